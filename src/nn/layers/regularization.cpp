// Dropout, GaussianNoise, GaussianDropout, AlphaDropout, SpatialDropout1D–3D, ActivityRegularization.
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <stoker/regularization_layers.h>

#include "nn/layers/augment_layer.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

Check dropped_share() {
  return in_half_open(0, 1).saying("at least 0 and below 1, the share that is dropped");
}

// Layers with a rate and a noise_shape.
template <class Config>
Fields<Config> noise_shape_fields(const Check& rate) {
  return {{"rate", &Config::rate, {.check = rate, .required = true}},
          {"noise_shape", &Config::noise_shape, {.sparse = true}}};
}

// The extents of the draws for an input; empty: noise_shape does not fit it.
std::optional<Shape> drawn_shape(const Ints& noise_shape, const Shape& input) {
  if (noise_shape.empty()) return input;
  Shape shape = input;
  if (int(noise_shape.size()) != input.rank()) return {};
  for (size_t i = 0; i < noise_shape.size(); ++i) {
    auto axis = int(i);
    if (noise_shape[i] != -1) shape.set(axis, noise_shape[i]);
    if (shape[axis] != 1 && shape[axis] != input[axis]) return {};
  }
  return shape;
}

std::string noise_shape_misfit(const Ints& noise_shape, const Shape& input) {
  return fmt::format(
      "noise_shape {} does not fit the input {}; every extent is 1, the input's, or -1 for the "
      "input's",
      FieldType<Ints>::text(noise_shape), to_string(input));
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

// Layers that change nothing when they do not train, nor at a rate of 0.
template <class Config>
class DroppingLayer : public Configured<SteadyLayer, Config> {
 public:
  using Configured<SteadyLayer, Config>::Configured;

 protected:
  virtual Value drop(const Value& x, double rate, CallContext& context) = 0;

  Value forward(const Value& x, CallContext& context) override {
    double rate = this->options().rate;
    if (!context.training() || rate == 0) return x;
    this->expect_float(x);
    return drop(x, rate, context);
  }
  // The extents of the draws of a layer with a noise_shape.
  Shape drawn(const Value& x) const {
    std::optional<Shape> shape = drawn_shape(this->options().noise_shape, x.shape());
    if (!shape) this->fail_input(noise_shape_misfit(this->options().noise_shape, x.shape()));
    return *shape;
  }
};

struct DropoutConfig : DropoutOptions {
  double rate = 0;
  static constexpr const char* kKind = "Dropout";
  static Fields<DropoutConfig> fields() {
    return noise_shape_fields<DropoutConfig>(
        in_half_open(0, 1).saying("at least 0 and below 1, the share that becomes 0"));
  }
};

class DropoutLayer : public DroppingLayer<DropoutConfig> {
 public:
  using DroppingLayer::DroppingLayer;

 protected:
  Value drop(const Value& x, double rate, CallContext& context) override {
    Shape draws = drawn(x);
    if (draws != x.shape()) return x * ops::cast(kept(draws, rate, context), x.dtype());
    return ops::dropout(x, context.random_state(), rate, context.next_stream());
  }
};

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

class GaussianDropoutLayer : public DroppingLayer<GaussianDropoutConfig> {
 public:
  using DroppingLayer::DroppingLayer;

 protected:
  Value drop(const Value& x, double rate, CallContext& context) override {
    return x * (normals(x, context) * std::sqrt(rate / (1 - rate)) + 1.0);
  }
};

struct AlphaDropoutConfig : AlphaDropoutOptions {
  double rate = 0;
  static constexpr const char* kKind = "AlphaDropout";
  static Fields<AlphaDropoutConfig> fields() {
    return noise_shape_fields<AlphaDropoutConfig>(dropped_share());
  }
};

class AlphaDropoutLayer : public DroppingLayer<AlphaDropoutConfig> {
 public:
  using DroppingLayer::DroppingLayer;

 protected:
  Value drop(const Value& x, double rate, CallContext& context) override {
    constexpr double kLowest = -1.6732632423543772848 * 1.0507009873554804934;  // of selu
    double scale = 1 / std::sqrt((1 - rate) * (1 + rate * kLowest * kLowest));
    Value keep = kept(drawn(x), rate, context) * (1 - rate);
    Value mixed = as_float32(x) * keep + (1.0 - keep) * kLowest;
    return ops::cast(mixed * scale - scale * kLowest * rate, x.dtype());
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
class SpatialDropoutLayer : public DroppingLayer<SpatialDropoutConfig<axes>> {
 public:
  using DroppingLayer<SpatialDropoutConfig<axes>>::DroppingLayer;

 protected:
  Value forward(const Value& x, CallContext& context) override {
    if (x.shape().rank() != int(axes) + 2)
      this->fail_input(fmt::format("{}-D input {}", axes + 2, input_dims(axes)), x.shape());
    return DroppingLayer<SpatialDropoutConfig<axes>>::forward(x, context);
  }
  Value drop(const Value& x, double rate, CallContext& context) override {
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
Dropout::Dropout(double rate, const DropoutOptions& options)
    : Layer(configured<DropoutLayer>({options, rate})) {}
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
  add_layer<DropoutLayer>(kinds);
  add_layer<GaussianNoiseLayer>(kinds);
  add_layer<GaussianDropoutLayer>(kinds);
  add_layer<AlphaDropoutLayer>(kinds);
  add_layer<SpatialDropoutLayer<1>>(kinds);
  add_layer<SpatialDropoutLayer<2>>(kinds);
  add_layer<SpatialDropoutLayer<3>>(kinds);
  add_layer<ActivityRegularizationLayer>(kinds);
}

}  // namespace stoker
