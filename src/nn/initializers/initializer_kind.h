// The kinds of initialisers. A kind is a struct of its options with its names, its rows and its draw:
//
//   struct ConstantValues {
//     double value = 0;
//     static constexpr KindNames kNames = {"Constant", "constant"};
//     static Fields<ConstantValues> fields() { return {{"value", &ConstantValues::value}}; }
//     Tensor operator()(const Shape& shape) const { return Tensor::full(shape, value); }
//   };
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <stoker/initializers.h>

#include "base/fields.h"
#include "nn/initializers/draw.h"
#include "nn/names.h"

namespace stoker {

struct InitializerKind {
  KindNames names;
  std::function<void(const Attrs& config)> check;                         // ValueError
  std::function<Tensor(const Attrs& config, const Shape& shape)> values;  // float32
  std::function<std::vector<FieldText>()> fields;
};

// In the order in which errors list them.
const std::vector<InitializerKind>& initializer_kinds();

template <class Kind>
Kind initializer_options(const Attrs& config) {
  return Kind::fields().made(std::string(Kind::kNames.kind), config);
}

template <class Kind>
InitializerKind initializer_kind() {
  return {.names = Kind::kNames,
          .check = [](const Attrs& config) { initializer_options<Kind>(config); },
          .values = [](const Attrs& config,
                       const Shape& shape) { return initializer_options<Kind>(config)(shape); },
          .fields = [] { return Kind::fields().text(); }};
}

template <class Kind>
Initializer made_initializer(const Kind& options) {
  return {std::string(Kind::kNames.kind), Kind::fields().write(options)};
}

// An explicit seed alone decides; otherwise the context's seed and a stream of its own.
RandomSequence sequence(std::optional<int64_t> seed);

// One family per file.
void add_plain_initializers(std::vector<InitializerKind>& kinds);
void add_scaled_initializers(std::vector<InitializerKind>& kinds);
void add_fourier_initializers(std::vector<InitializerKind>& kinds);

}  // namespace stoker
