#include <stoker/initializers.h>

#include <fmt/format.h>
#include <stoker/context.h>
#include <stoker/error.h>

#include "nn/initializers/initializer_kind.h"

namespace stoker {

const std::vector<InitializerKind>& initializer_kinds() {
  static const std::vector<InitializerKind> kinds = [] {
    std::vector<InitializerKind> all;
    add_plain_initializers(all);
    add_scaled_initializers(all);
    add_fourier_initializers(all);
    return all;
  }();
  return kinds;
}

RandomSequence sequence(std::optional<int64_t> seed) {
  if (seed) return {uint64_t(*seed), 0};
  Context& context = default_context();
  return {context.seed.value(), context.next_stream()};
}

namespace {

const InitializerKind& known_initializer(const std::string& name) {
  if (const InitializerKind* found = find_kind(initializer_kinds(), name)) return *found;
  if (name == Initializer::kCustom)
    throw ValueError(
        "this initializer was a C++ function, which is not in the file; pass its layer to "
        "load_model, by the layer's name in .custom_objects.layers");
  std::vector<std::string_view> names;
  add_names(names, initializer_kinds());
  throw ValueError(fmt::format("unknown initializer \"{}\"; there are {}", name, list_of(names)));
}

}  // namespace

Initializer::Initializer(const std::string& name) : kind_(known_initializer(name).names.kind) {}

Initializer::Initializer(const std::string& kind, Attrs config)
    : kind_(known_initializer(kind).names.kind), config_(std::move(config)) {
  known_initializer(kind).check(config_);
}

Tensor Initializer::operator()(const Shape& shape, DType dtype) const {
  Tensor tensor = function_ ? function_(shape) : known_initializer(kind_).values(config_, shape);
  if (!tensor.defined() || tensor.shape() != shape)
    throw ShapeError(fmt::format("initializer {}: expected {}, got {}", kind_, to_string(shape),
                                 tensor.defined() ? to_string(tensor.shape()) : "nothing"));
  if (function_) return tensor.dtype() == dtype ? tensor : tensor.cast(dtype);
  return dtype == DType::float32 ? tensor : tensor.cast(dtype);
}

}  // namespace stoker
