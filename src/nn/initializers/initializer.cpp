#include <stoker/initializers.h>

#include <algorithm>

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
    return all;
  }();
  return kinds;
}

Rng generator(std::optional<int64_t> seed) {
  if (seed) return Rng(uint64_t(*seed));
  Context& context = default_context();
  return Rng(context.seed.value(), context.next_stream());
}

namespace {

const InitializerKind& known_initializer(const std::string& name) {
  if (const InitializerKind* found = find_kind(initializer_kinds(), name)) return *found;
  std::vector<std::string_view> names;
  add_names(names, initializer_kinds());
  throw ValueError(fmt::format("unknown initializer \"{}\"; there are {}", name, list_of(names)));
}

template <class Draw>
Tensor drawn(const Shape& shape, Draw draw) {
  Tensor tensor(DType::float32, shape);
  float* values = tensor.data_mut<float>();
  std::generate_n(values, tensor.elements(), draw);
  return tensor;
}

}  // namespace

Tensor normal_values(const Shape& shape, Rng rng, double mean, double stddev) {
  return drawn(shape, [&] { return float(mean + stddev * double(rng.normal())); });
}

Tensor truncated_normal_values(const Shape& shape, Rng rng, double mean, double stddev) {
  return drawn(shape, [&] { return float(mean + stddev * double(rng.truncated_normal())); });
}

Tensor uniform_values(const Shape& shape, Rng rng, double low, double high) {
  return drawn(shape, [&] { return rng.uniform(float(low), float(high)); });
}

Initializer::Initializer(const std::string& name) : kind_(known_initializer(name).names.kind) {}

Initializer::Initializer(const std::string& kind, Attrs config)
    : kind_(known_initializer(kind).names.kind), config_(std::move(config)) {
  known_initializer(kind).check(config_);
}

Tensor Initializer::operator()(const Shape& shape, DType dtype) const {
  Tensor tensor = known_initializer(kind_).values(config_, shape);
  return dtype == DType::float32 ? tensor : tensor.cast(dtype);
}

}  // namespace stoker
