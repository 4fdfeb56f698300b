// GaussianNoise, GaussianDropout, AlphaDropout, SpatialDropout1D–3D, ActivityRegularization. What is dropped is drawn as in Dropout.
#include <cmath>

#include <fmt/format.h>
#include <stoker/regularization_layers.h>

#include "nn/layers/augment_layer.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

constexpr Check dropped_share() {
  return in_half_open(0, 1).saying("at least 0 and below 1, the share that is dropped");
}

// 1 / (1 - rate) where a draw keeps, 0 where it drops.
Value kept(const Shape& shape, double rate, CallContext& context) {
  Value ones = ops::broadcast_to(Value(Tensor::full({}, 1)), shape);
  return ops::dropout(ones, context.random_state(), rate, context.next_stream());
}

// Numbers of mean 0 and deviation 1, as many as x has.
Value normals(const Value& x, CallContext& context) {
  const Shape& shape = x.shape();
  int64_t rows = shape.rank() > 1 ? shape[1] : 1;
  Value zeros = ops::broadcast_to(Value(Tensor::zeros({})),
                                  {shape[0], rows, shape.elements() / (shape[0] * rows), 1});
  Value made =
      augmented(zeros, {augment::noise_stage(1)}, {zeros.shape()[1], zeros.shape()[2]}, context);
  return ops::cast(ops::reshape(made, shape), x.dtype());
}

struct GaussianNoiseConfig : LayerOptions {
  double stddev = 0;
  static constexpr const char* kKind = "GaussianNoise";
  static Fields<GaussianNoiseConfig> fields() {
    Check share = between(0, 1);
    return {{"stddev", &GaussianNoiseConfig::stddev, {.check = share, .required = true}}};
  }
};

class GaussianNoiseLayer : public Configured<SteadyLayer, GaussianNoiseConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext& context) override {
    if (!context.training() || options().stddev == 0) return x;
    expect_float(x);
    return x + normals(x, context) * options().stddev;
  }
};

struct GaussianDropoutConfig : LayerOptions {
  double rate = 0;
  static constexpr const char* kKind = "GaussianDropout";
  static Fields<GaussianDropoutConfig> fields() {
    return {{"rate", &GaussianDropoutConfig::rate, {.check = dropped_share(), .required = true}}};
  }
};

class GaussianDropoutLayer : public Configured<SteadyLayer, GaussianDropoutConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext& context) override {
    double rate = options().rate;
    if (!context.training() || rate == 0) return x;
    expect_float(x);
    return x * (normals(x, context) * std::sqrt(rate / (1 - rate)) + 1.0);
  }
};

struct AlphaDropoutConfig : AlphaDropoutOptions {
  double rate = 0;
  static constexpr const char* kKind = "AlphaDropout";
  static Fields<AlphaDropoutConfig> fields() {
    using C = AlphaDropoutConfig;
    return {{"rate", &C::rate, {.check = dropped_share(), .required = true}},
            {"noise_shape", &C::noise_shape, {.sparse = true}}};
  }
};

class AlphaDropoutLayer : public Configured<SteadyLayer, AlphaDropoutConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext& context) override {
    double rate = options().rate;
    if (!context.training() || rate == 0) return x;
    expect_float(x);
    constexpr double kLowest = -1.6732632423543772848 * 1.0507009873554804934;  // of selu
    double scale = 1 / std::sqrt((1 - rate) * (1 + rate * kLowest * kLowest));
    Value keep = kept(noise_shape(x.shape()), rate, context) * (1 - rate);
    Value mixed = as_float32(x) * keep + (1.0 - keep) * kLowest;
    return ops::cast(mixed * scale - scale * kLowest * rate, x.dtype());
  }

 private:
  Shape noise_shape(const Shape& input) const {
    const Ints& given = options().noise_shape;
    if (given.empty()) return input;
    Shape shape = input;
    bool fits = int(given.size()) == input.rank();
    for (size_t axis = 0; fits && axis < given.size(); ++axis) {
      if (given[axis] != -1) shape.set(int(axis), given[axis]);
      fits = shape[int(axis)] == 1 || shape[int(axis)] == input[int(axis)];
    }
    if (!fits)
      fail_input(
          fmt::format("noise_shape {} does not fit the input {}; every extent is 1, the "
                      "input's, or -1 for the input's",
                      FieldType<Ints>::text(given), to_string(input)));
    return shape;
  }
};

template <size_t axes>
struct SpatialDropoutConfig : LayerOptions {
  double rate = 0;
  static constexpr const char* kKind = axes == 1   ? "SpatialDropout1D"
                                       : axes == 2 ? "SpatialDropout2D"
                                                   : "SpatialDropout3D";
  static Fields<SpatialDropoutConfig> fields() {
    return {{"rate", &SpatialDropoutConfig::rate, {.check = dropped_share(), .required = true}}};
  }
};

template <size_t axes>
class SpatialDropoutLayer : public Configured<SteadyLayer, SpatialDropoutConfig<axes>> {
 public:
  using Configured<SteadyLayer, SpatialDropoutConfig<axes>>::Configured;

 protected:
  Value forward(const Value& x, CallContext& context) override {
    if (x.shape().rank() != int(axes) + 2)
      this->fail_input(fmt::format("{}-D input {}", axes + 2, input_dims(axes)), x.shape());
    double rate = this->options().rate;
    if (!context.training() || rate == 0) return x;
    this->expect_float(x);
    Shape maps = x.shape();
    for (size_t axis = 1; axis <= axes; ++axis) maps.set(int(axis), 1);
    return x * ops::cast(kept(maps, rate, context), x.dtype());
  }
};

struct ActivityRegularizationConfig : ActivityRegularizationOptions {
  static constexpr const char* kKind = "ActivityRegularization";
  static Fields<ActivityRegularizationConfig> fields() {
    using C = ActivityRegularizationConfig;
    return {{"l1", &C::l1, at_least(0)}, {"l2", &C::l2, at_least(0)}};
  }
};

class ActivityRegularizationLayer : public Configured<SteadyLayer, ActivityRegularizationConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext& context) override {
    expect_float(x);
    if (Regularizer penalty = L1L2(options().l1, options().l2))
      context.add_loss(penalty(x) / double(x.shape()[0]));
    return x;
  }
};

}  // namespace

GaussianNoise::GaussianNoise(double stddev, const LayerOptions& options)
    : Layer(configured<GaussianNoiseLayer>({options, stddev})) {}
GaussianDropout::GaussianDropout(double rate, const LayerOptions& options)
    : Layer(configured<GaussianDropoutLayer>({options, rate})) {}
AlphaDropout::AlphaDropout(double rate, const AlphaDropoutOptions& options)
    : Layer(configured<AlphaDropoutLayer>({options, rate})) {}
SpatialDropout1D::SpatialDropout1D(double rate, const LayerOptions& options)
    : Layer(configured<SpatialDropoutLayer<1>>({options, rate})) {}
SpatialDropout2D::SpatialDropout2D(double rate, const LayerOptions& options)
    : Layer(configured<SpatialDropoutLayer<2>>({options, rate})) {}
SpatialDropout3D::SpatialDropout3D(double rate, const LayerOptions& options)
    : Layer(configured<SpatialDropoutLayer<3>>({options, rate})) {}
ActivityRegularization::ActivityRegularization(const ActivityRegularizationOptions& options)
    : Layer(configured<ActivityRegularizationLayer>({options})) {}

void add_regularization_layers(LayerKinds& kinds) {
  add_layer<GaussianNoiseLayer>(kinds);
  add_layer<GaussianDropoutLayer>(kinds);
  add_layer<AlphaDropoutLayer>(kinds);
  add_layer<SpatialDropoutLayer<1>>(kinds);
  add_layer<SpatialDropoutLayer<2>>(kinds);
  add_layer<SpatialDropoutLayer<3>>(kinds);
  add_layer<ActivityRegularizationLayer>(kinds);
}

}  // namespace stoker
