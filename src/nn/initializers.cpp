#include <stoker/initializers.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <stoker/context.h>
#include <stoker/error.h>
#include <stoker/random.h>

#include "nn/config.h"
#include "nn/names.h"
#include "nn/orthogonal.h"

namespace stoker {

namespace {

struct NamedInitializer {
  std::string_view name, kind;
};
constexpr auto kNames = std::to_array<NamedInitializer>({
    {"zeros", "Zeros"},
    {"ones", "Ones"},
    {"constant", "Constant"},
    {"random_normal", "RandomNormal"},
    {"normal", "RandomNormal"},
    {"truncated_normal", "TruncatedNormal"},
    {"random_uniform", "RandomUniform"},
    {"uniform", "RandomUniform"},
    {"variance_scaling", "VarianceScaling"},
    {"glorot_uniform", "GlorotUniform"},
    {"glorot_normal", "GlorotNormal"},
    {"he_uniform", "HeUniform"},
    {"he_normal", "HeNormal"},
    {"lecun_uniform", "LecunUniform"},
    {"lecun_normal", "LecunNormal"},
    {"orthogonal", "Orthogonal"},
});

std::string kind_of(const std::string& name) {
  for (const NamedInitializer& known : kNames)
    if (known.name == name || known.kind == name) return std::string(known.kind);
  std::vector<std::string_view> names(kNames.size());
  std::ranges::transform(kNames, names.begin(), &NamedInitializer::name);
  throw ValueError(fmt::format("unknown initializer \"{}\"; there are {}", name, list_of(names)));
}

// An explicit seed alone decides; otherwise the context's seed and a stream that nobody else has.
Rng generator(const Attrs& attrs) {
  if (attrs.has("seed")) return Rng(uint64_t(attrs.get<int64_t>("seed")));
  Context& context = default_context();
  return Rng(context.seed.value(), context.next_stream());
}

template <class Draw>
Tensor drawn(const Shape& shape, Draw draw) {
  Tensor tensor(DType::float32, shape);
  float* values = tensor.data_mut<float>();
  std::generate_n(values, tensor.elements(), draw);
  return tensor;
}

Tensor normal(const Shape& shape, Rng rng, double mean, double stddev) {
  return drawn(shape, [&] { return float(mean + stddev * double(rng.normal())); });
}
Tensor truncated_normal(const Shape& shape, Rng rng, double mean, double stddev) {
  return drawn(shape, [&] { return float(mean + stddev * double(rng.truncated_normal())); });
}
Tensor uniform(const Shape& shape, Rng rng, double low, double high) {
  return drawn(shape, [&] { return rng.uniform(float(low), float(high)); });
}

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

double fan_of(const Shape& shape, const std::string& mode) {
  Fans fans = fans_of(shape);
  if (mode == "fan_in") return fans.in;
  if (mode == "fan_out") return fans.out;
  if (mode == "fan_avg") return (fans.in + fans.out) / 2;
  throw ValueError(
      fmt::format("VarianceScaling: mode is fan_in, fan_out or fan_avg, got \"{}\"", mode));
}

Tensor variance_scaling(const Shape& shape, const Attrs& attrs, double scale,
                        const std::string& mode, const std::string& distribution) {
  // The deviation of a normal distribution cut at two deviations: dividing by it restores the
  // variance.
  constexpr double kTruncatedDeviation = 0.87962566103423978;
  double variance = scale / std::max(1.0, fan_of(shape, mode));
  if (distribution == "truncated_normal")
    return truncated_normal(shape, generator(attrs), 0, std::sqrt(variance) / kTruncatedDeviation);
  if (distribution == "untruncated_normal")
    return normal(shape, generator(attrs), 0, std::sqrt(variance));
  if (distribution == "uniform") {
    double limit = std::sqrt(3 * variance);
    return uniform(shape, generator(attrs), -limit, limit);
  }
  throw ValueError(fmt::format(
      "VarianceScaling: distribution is truncated_normal, untruncated_normal or uniform, "
      "got \"{}\"",
      distribution));
}

// The six that are VarianceScaling under another name.
struct Scaled {
  std::string_view kind;
  double scale;
  const char* mode;
  const char* distribution;
};
constexpr auto kScaled = std::to_array<Scaled>({
    {"GlorotUniform", 1, "fan_avg", "uniform"},
    {"GlorotNormal", 1, "fan_avg", "truncated_normal"},
    {"HeUniform", 2, "fan_in", "uniform"},
    {"HeNormal", 2, "fan_in", "truncated_normal"},
    {"LecunUniform", 1, "fan_in", "uniform"},
    {"LecunNormal", 1, "fan_in", "truncated_normal"},
});

Tensor made(const std::string& kind, const Attrs& attrs, const Shape& shape) {
  for (const Scaled& scaled : kScaled)
    if (scaled.kind == kind)
      return variance_scaling(shape, attrs, scaled.scale, scaled.mode, scaled.distribution);
  if (kind == "VarianceScaling")
    return variance_scaling(shape, attrs, config::number(attrs, "scale", 1),
                            attrs.get_or<std::string>("mode", "fan_in"),
                            attrs.get_or<std::string>("distribution", "truncated_normal"));
  double mean = config::number(attrs, "mean", 0), stddev = config::number(attrs, "stddev", 0.05);
  if (kind == "RandomNormal") return normal(shape, generator(attrs), mean, stddev);
  if (kind == "TruncatedNormal") return truncated_normal(shape, generator(attrs), mean, stddev);
  if (kind == "RandomUniform")
    return uniform(shape, generator(attrs), config::number(attrs, "minval", -0.05),
                   config::number(attrs, "maxval", 0.05));
  if (kind == "Orthogonal")
    return orthogonal(shape, generator(attrs), config::number(attrs, "gain", 1));
  if (kind == "Zeros") return Tensor::zeros(shape);
  if (kind == "Ones") return Tensor::full(shape, 1);
  if (kind == "Constant") return Tensor::full(shape, config::number(attrs, "value", 0));
  return made(kind_of(kind), attrs, shape);  // a name in the other spelling, or an error
}

Attrs with_seed(Attrs attrs, std::optional<int64_t> seed) {
  if (seed) attrs.set("seed", *seed);
  return attrs;
}

}  // namespace

Initializer::Initializer(const std::string& name) : kind_(kind_of(name)) {}

Tensor Initializer::operator()(const Shape& shape, DType dtype) const {
  Tensor tensor = made(kind_, config_, shape);
  return dtype == DType::float32 ? tensor : tensor.cast(dtype);
}

Initializer Zeros() { return {"Zeros", Attrs()}; }
Initializer Ones() { return {"Ones", Attrs()}; }
Initializer Constant(double value) { return {"Constant", Attrs{{"value", value}}}; }
Initializer RandomNormal(const RandomOptions& options) {
  return {"RandomNormal",
          with_seed({{"mean", options.mean}, {"stddev", options.stddev}}, options.seed)};
}
Initializer TruncatedNormal(const RandomOptions& options) {
  return {"TruncatedNormal",
          with_seed({{"mean", options.mean}, {"stddev", options.stddev}}, options.seed)};
}
Initializer RandomUniform(const UniformOptions& options) {
  return {"RandomUniform",
          with_seed({{"minval", options.minval}, {"maxval", options.maxval}}, options.seed)};
}
Initializer VarianceScaling(const VarianceScalingOptions& options) {
  if (!(options.scale > 0))
    throw ValueError(fmt::format("VarianceScaling: scale is above 0, got {}", options.scale));
  return {"VarianceScaling", with_seed({{"scale", options.scale},
                                        {"mode", options.mode},
                                        {"distribution", options.distribution}},
                                       options.seed)};
}
Initializer GlorotUniform(const SeedOptions& options) {
  return {"GlorotUniform", with_seed({}, options.seed)};
}
Initializer GlorotNormal(const SeedOptions& options) {
  return {"GlorotNormal", with_seed({}, options.seed)};
}
Initializer HeUniform(const SeedOptions& options) {
  return {"HeUniform", with_seed({}, options.seed)};
}
Initializer HeNormal(const SeedOptions& options) {
  return {"HeNormal", with_seed({}, options.seed)};
}
Initializer LecunUniform(const SeedOptions& options) {
  return {"LecunUniform", with_seed({}, options.seed)};
}
Initializer LecunNormal(const SeedOptions& options) {
  return {"LecunNormal", with_seed({}, options.seed)};
}
Initializer Orthogonal(double gain, const SeedOptions& options) {
  return {"Orthogonal", with_seed({{"gain", gain}}, options.seed)};
}

}  // namespace stoker
