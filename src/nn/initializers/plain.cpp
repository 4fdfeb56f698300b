// Zeros, Ones, Constant, RandomNormal, TruncatedNormal, RandomUniform.
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
  static constexpr KindNames kNames = {"Constant", "constant"};
  static Fields<ConstantValues> fields() { return {{"value", &ConstantValues::value}}; }
  Tensor operator()(const Shape& shape) const { return Tensor::full(shape, value); }
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
  kinds.push_back(initializer_kind<NormalValues>());
  kinds.push_back(initializer_kind<TruncatedNormalValues>());
  kinds.push_back(initializer_kind<UniformValues>());
}

}  // namespace stoker
