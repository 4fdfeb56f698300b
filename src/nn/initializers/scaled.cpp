// VarianceScaling, the six that are VarianceScaling under another name, and Orthogonal.
#include <algorithm>
#include <cmath>

#include "nn/initializers/initializer_kind.h"
#include "nn/initializers/orthogonal.h"

namespace stoker {

namespace {

struct Fans {
  double in, out;
};
// Keras's: the last two dimensions, times the receptive field before them.
Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {double(shape[0]), double(shape[0])};
  double field = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) field *= double(shape[axis]);
  return {field * double(shape[-2]), field * double(shape[-1])};
}

double fan_of(const Shape& shape, std::string_view mode) {
  Fans fans = fans_of(shape);
  if (mode == "fan_in") return fans.in;
  if (mode == "fan_out") return fans.out;
  return (fans.in + fans.out) / 2;
}

struct ScaledValues : VarianceScalingOptions {
  static constexpr KindNames kNames = {"VarianceScaling", "variance_scaling"};
  static Fields<ScaledValues> fields() {
    using C = ScaledValues;
    return {{"scale", &C::scale, above(0)},
            {"mode", &C::mode,
             one_of({"fan_in", "fan_out", "fan_avg"}).saying("fan_in, fan_out or fan_avg")},
            {"distribution", &C::distribution,
             one_of({"truncated_normal", "untruncated_normal", "uniform"})
                 .saying("truncated_normal, untruncated_normal or uniform")},
            {"seed", &C::seed}};
  }
  Tensor operator()(const Shape& shape) const {
    // The deviation of a normal distribution cut at two deviations: dividing by it restores the
    // variance.
    constexpr double kTruncatedDeviation = 0.87962566103423978;
    double variance = scale / std::max(1.0, fan_of(shape, mode));
    if (distribution == "truncated_normal")
      return truncated_normal_values(shape, sequence(seed), 0,
                                     std::sqrt(variance) / kTruncatedDeviation);
    if (distribution == "untruncated_normal")
      return normal_values(shape, sequence(seed), 0, std::sqrt(variance));
    double limit = std::sqrt(3 * variance);
    return uniform_values(shape, sequence(seed), -limit, limit);
  }
};

// VarianceScaling under another name.
struct Scaling {
  KindNames names;
  double scale;
  const char *mode, *distribution;
};
constexpr Scaling kGlorotUniform = {{"GlorotUniform", "glorot_uniform"}, 1, "fan_avg", "uniform"};
constexpr Scaling kGlorotNormal = {
    {"GlorotNormal", "glorot_normal"}, 1, "fan_avg", "truncated_normal"};
constexpr Scaling kHeUniform = {{"HeUniform", "he_uniform"}, 2, "fan_in", "uniform"};
constexpr Scaling kHeNormal = {{"HeNormal", "he_normal"}, 2, "fan_in", "truncated_normal"};
constexpr Scaling kLecunUniform = {{"LecunUniform", "lecun_uniform"}, 1, "fan_in", "uniform"};
constexpr Scaling kLecunNormal = {{"LecunNormal", "lecun_normal"}, 1, "fan_in", "truncated_normal"};

template <const Scaling& scaling>
struct NamedScaling : SeedOptions {
  static constexpr KindNames kNames = scaling.names;
  static Fields<NamedScaling> fields() { return {{"seed", &NamedScaling::seed}}; }
  Tensor operator()(const Shape& shape) const {
    return ScaledValues{{.scale = scaling.scale,
                         .mode = scaling.mode,
                         .distribution = scaling.distribution,
                         .seed = seed}}(shape);
  }
};

struct OrthogonalValues : SeedOptions {
  double gain = 1.0;
  static constexpr KindNames kNames = {"Orthogonal", "orthogonal"};
  static Fields<OrthogonalValues> fields() {
    return {{"gain", &OrthogonalValues::gain}, {"seed", &OrthogonalValues::seed}};
  }
  Tensor operator()(const Shape& shape) const { return orthogonal(shape, sequence(seed), gain); }
};

template <const Scaling& scaling>
Initializer named(const SeedOptions& options) {
  return made_initializer(NamedScaling<scaling>{options});
}

}  // namespace

Initializer VarianceScaling(const VarianceScalingOptions& options) {
  return made_initializer(ScaledValues{options});
}
Initializer GlorotUniform(const SeedOptions& options) { return named<kGlorotUniform>(options); }
Initializer GlorotNormal(const SeedOptions& options) { return named<kGlorotNormal>(options); }
Initializer HeUniform(const SeedOptions& options) { return named<kHeUniform>(options); }
Initializer HeNormal(const SeedOptions& options) { return named<kHeNormal>(options); }
Initializer LecunUniform(const SeedOptions& options) { return named<kLecunUniform>(options); }
Initializer LecunNormal(const SeedOptions& options) { return named<kLecunNormal>(options); }
Initializer Orthogonal(double gain, const SeedOptions& options) {
  return made_initializer(OrthogonalValues{options, gain});
}

void add_scaled_initializers(std::vector<InitializerKind>& kinds) {
  kinds.push_back(initializer_kind<ScaledValues>());
  kinds.push_back(initializer_kind<NamedScaling<kGlorotUniform>>());
  kinds.push_back(initializer_kind<NamedScaling<kGlorotNormal>>());
  kinds.push_back(initializer_kind<NamedScaling<kHeUniform>>());
  kinds.push_back(initializer_kind<NamedScaling<kHeNormal>>());
  kinds.push_back(initializer_kind<NamedScaling<kLecunUniform>>());
  kinds.push_back(initializer_kind<NamedScaling<kLecunNormal>>());
  kinds.push_back(initializer_kind<OrthogonalValues>());
}

}  // namespace stoker
