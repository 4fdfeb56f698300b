// PositionEmbedding, SinePositionEncoding and RotaryEmbedding.
#include <cmath>

#include <fmt/format.h>
#include <stoker/transformer_layers.h>

#include "graph/sketch.h"
#include "nn/counting.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

// --- learnt --------------------------------------------------------------------------------------

struct PositionEmbeddingConfig : PositionEmbeddingOptions {
  int64_t sequence_length = 0;
  static constexpr const char* kKind = "PositionEmbedding";
  static Fields<PositionEmbeddingConfig> fields() {
    using C = PositionEmbeddingConfig;
    return {{"sequence_length", &C::sequence_length, {.check = at_least(1), .required = true}},
            {"initializer", &C::initializer}};
  }
};

// The steps of a trial, whose number is not known; layers before may have halved it.
bool stands_for_unknown(const Shape& x) {
  int64_t unknown = with_trial_extents({-1})[0];
  return x[1] % unknown == 0 || (is_trial_batch(x[0]) && x[1] >= unknown / 2);
}

class PositionEmbeddingLayer : public Configured<SteadyLayer, PositionEmbeddingConfig> {
 public:
  using Configured::Configured;

 protected:
  void build_for(const Shape& input) override {
    expect_sequence(input);
    embeddings_ = add_weight("embeddings", {options().sequence_length, input[-1]},
                             {.initializer = options().initializer});
  }

  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    expect_sequence(x.shape());
    int64_t steps = x.shape()[1], features = x.shape()[2];
    bool more = steps > options().sequence_length;
    if (more && !stands_for_unknown(x.shape()))
      fail_input(fmt::format("at most {} steps, its sequence_length", options().sequence_length),
                 x.shape());
    Value rows = more ? ops::gather(embeddings_, counting(steps))
                      : ops::slice(embeddings_, {0, 0}, {steps, features});
    // Should it be no trial, this does not pass unnoticed.
    if (more && !is_trial_batch(x.shape()[0])) rows = rows * std::nan("");
    return ops::broadcast_to(ops::cast(rows, x.dtype()), x.shape());
  }

 private:
  Variable embeddings_;
};

// --- sines ---------------------------------------------------------------------------------------

struct SinePositionEncodingConfig : SinePositionEncodingOptions {
  static constexpr const char* kKind = "SinePositionEncoding";
  static Fields<SinePositionEncodingConfig> fields() {
    using C = SinePositionEncodingConfig;
    return {{"max_wavelength", &C::max_wavelength, {.check = above(0)}}};
  }
};

Tensor floats_of(const std::vector<double>& values) {
  Tensor tensor = Tensor::zeros({int64_t(values.size())}, DType::float32);
  for (size_t i = 0; i < values.size(); ++i) tensor.data_mut<float>()[i] = float(values[i]);
  return tensor;
}

// [T] → [T, 1], float32.
Value as_column(const Value& positions) {
  return ops::cast(ops::expand_dims(positions, 1), DType::float32);
}

class SinePositionEncodingLayer : public Configured<SteadyLayer, SinePositionEncodingConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    expect_sequence(x.shape());
    int64_t features = x.shape()[2];
    std::vector<double> rates(static_cast<size_t>(features)), even = rates;
    for (int64_t i = 0; i < features; ++i) {
      rates[size_t(i)] =
          std::pow(options().max_wavelength, -double(2 * (i / 2)) / double(features));
      even[size_t(i)] = double(i % 2 == 0);
    }
    Value angles = as_column(counting(x.shape()[1])) * Value(floats_of(rates));
    Value is_even = ops::greater(Value(floats_of(even)), 0.5);
    Value encoding = ops::where(is_even, ops::sin(angles), ops::cos(angles));
    return ops::broadcast_to(ops::cast(encoding, x.dtype()), x.shape());
  }
};

// --- rotations -----------------------------------------------------------------------------------

struct RotaryEmbeddingConfig : RotaryEmbeddingOptions {
  static constexpr const char* kKind = "RotaryEmbedding";
  static Fields<RotaryEmbeddingConfig> fields() {
    using C = RotaryEmbeddingConfig;
    return {{"max_wavelength", &C::max_wavelength, {.check = above(0)}},
            {"scaling_factor", &C::scaling_factor, {.check = above(0)}},
            {"sequence_axis", &C::sequence_axis},
            {"feature_axis", &C::feature_axis}};
  }
};

class RotaryEmbeddingLayer : public Configured<SteadyLayer, RotaryEmbeddingConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    const Shape& shape = x.shape();
    int steps = resolve_axis(options().sequence_axis, shape);
    int features = resolve_axis(options().feature_axis, shape);
    if (steps == features) fail_option("sequence_axis and feature_axis are the same");
    if (shape[features] % 2 != 0)
      fail_input(fmt::format("an even extent in axis {}, whose halves it pairs", features), shape);
    int64_t half = shape[features] / 2;
    Value angles = this->angles(half, shape[steps]);  // [T, half]
    if (features < steps) angles = ops::transpose(angles, {1, 0});
    Shape beside = shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (axis != steps) beside.set(axis, axis == features ? half : 1);
    angles = ops::reshape(angles, beside);
    Value cosine = ops::cast(ops::cos(angles), x.dtype()),
          sine = ops::cast(ops::sin(angles), x.dtype());
    Values halves = ops::split(x, 2, features);
    return ops::concatenate(
        {halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, features);
  }

 private:
  Value angles(int64_t half, int64_t steps) const {
    std::vector<double> rates;
    for (int64_t i = 0; i < half; ++i)
      rates.push_back(std::pow(options().max_wavelength, -double(i) / double(half)) /
                      options().scaling_factor);
    return as_column(counting(steps)) * Value(floats_of(rates));
  }
};

}  // namespace

PositionEmbedding::PositionEmbedding(int64_t sequence_length,
                                     const PositionEmbeddingOptions& options)
    : Layer(configured<PositionEmbeddingLayer>({options, sequence_length})) {}

SinePositionEncoding::SinePositionEncoding(const SinePositionEncodingOptions& options)
    : Layer(configured<SinePositionEncodingLayer>({options})) {}

RotaryEmbedding::RotaryEmbedding(const RotaryEmbeddingOptions& options)
    : Layer(configured<RotaryEmbeddingLayer>({options})) {}

void add_position_layers(LayerKinds& kinds) {
  add_layer<PositionEmbeddingLayer>(kinds);
  add_layer<SinePositionEncodingLayer>(kinds);
  add_layer<RotaryEmbeddingLayer>(kinds);
}

}  // namespace stoker
