// Zeros, Ones, Constant, Identity, RandomNormal, TruncatedNormal, RandomUniform.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/initializers/initializer_kind.h"

namespace stoker {

namespace {

struct ZeroValues {
  static constexpr KindNames kNames = {"Zeros", "zeros"};
  static Fields<ZeroValues> fields() { return {}; }
  Tensor operator()(const Shape& shape) const { return Tensor::zeros(shape); }
};

struct OneValues {
  static constexpr KindNames kNames = {"Ones", "ones"};
  static Fields<OneValues> fields() { return {}; }
  Tensor operator()(const Shape& shape) const { return Tensor::full(shape, 1); }
};

struct ConstantValues {
  double value = 0;
  Doubles values = {};  // of `shape`, in place of the one value
  Ints shape = {};
  static constexpr KindNames kNames = {"Constant", "constant"};
  static Fields<ConstantValues> fields() {
    return {{"value", &ConstantValues::value},
            {"values", &ConstantValues::values, {.sparse = true}},
            {"shape", &ConstantValues::shape, {.sparse = true}}};
  }
  Tensor operator()(const Shape& wanted) const {
    if (values.empty()) return Tensor::full(wanted, value);
    if (Shape(shape) != wanted)
      throw ShapeError(fmt::format("Constant: it holds {} numbers of shape {}, for a weight {}",
                                   values.size(), to_string(Shape(shape)), to_string(wanted)));
    return Tensor::from(std::vector<float>(values.begin(), values.end()), wanted);
  }
};

struct IdentityValues {
  double gain = 1.0;
  static constexpr KindNames kNames = {"Identity", "identity"};
  static Fields<IdentityValues> fields() { return {{"gain", &IdentityValues::gain}}; }
  Tensor operator()(const Shape& shape) const {
    if (shape.rank() != 2) throw ShapeError("Identity: expected a matrix, got " + to_string(shape));
    Tensor matrix = Tensor::zeros(shape);
    for (int64_t at = 0; at < std::min(shape[0], shape[1]); ++at)
      matrix.data_mut<float>()[at * shape[1] + at] = float(gain);
    return matrix;
  }
};

template <class Kind>
Fields<Kind> normal_fields() {
  return {{"mean", &Kind::mean}, {"stddev", &Kind::stddev}, {"seed", &Kind::seed}};
}

struct NormalValues : RandomOptions {
  static constexpr KindNames kNames = {"RandomNormal", "random_normal", "normal"};
  static Fields<NormalValues> fields() { return normal_fields<NormalValues>(); }
  Tensor operator()(const Shape& shape) const {
    return normal_values(shape, sequence(seed), mean, stddev);
  }
};

struct TruncatedNormalValues : RandomOptions {
  static constexpr KindNames kNames = {"TruncatedNormal", "truncated_normal"};
  static Fields<TruncatedNormalValues> fields() { return normal_fields<TruncatedNormalValues>(); }
  Tensor operator()(const Shape& shape) const {
    return truncated_normal_values(shape, sequence(seed), mean, stddev);
  }
};

struct UniformValues : UniformOptions {
  static constexpr KindNames kNames = {"RandomUniform", "random_uniform", "uniform"};
  static Fields<UniformValues> fields() {
    return {{"minval", &UniformValues::minval},
            {"maxval", &UniformValues::maxval},
            {"seed", &UniformValues::seed}};
  }
  Tensor operator()(const Shape& shape) const {
    return uniform_values(shape, sequence(seed), minval, maxval);
  }
};

}  // namespace

Initializer Zeros() { return made_initializer(ZeroValues()); }
Initializer Ones() { return made_initializer(OneValues()); }
Initializer Constant(double value) { return made_initializer(ConstantValues{value}); }
Initializer Constant(const Tensor& values) {
  if (!values.defined() || values.shape().elements() == 0)
    throw ValueError("Constant: expected a tensor with numbers, got an empty one");
  Tensor floats = values.cast(DType::float32);
  const Shape& shape = values.shape();
  return made_initializer(
      ConstantValues{.values = {floats.values<float>().begin(), floats.values<float>().end()},
                     .shape = {shape.begin(), shape.end()}});
}
Initializer IdentityInitializer(double gain) { return made_initializer(IdentityValues{gain}); }
Initializer RandomNormal(const RandomOptions& options) {
  return made_initializer(NormalValues{options});
}
Initializer TruncatedNormal(const RandomOptions& options) {
  return made_initializer(TruncatedNormalValues{options});
}
Initializer RandomUniform(const UniformOptions& options) {
  return made_initializer(UniformValues{options});
}

void add_plain_initializers(std::vector<InitializerKind>& kinds) {
  kinds.push_back(initializer_kind<ZeroValues>());
  kinds.push_back(initializer_kind<OneValues>());
  kinds.push_back(initializer_kind<ConstantValues>());
  kinds.push_back(initializer_kind<IdentityValues>());
  kinds.push_back(initializer_kind<NormalValues>());
  kinds.push_back(initializer_kind<TruncatedNormalValues>());
  kinds.push_back(initializer_kind<UniformValues>());
}

}  // namespace stoker
