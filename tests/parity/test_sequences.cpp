// Layers over time, masks through layers, losses and metrics, against Keras: keras_sequences.py.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/layers.h>
#include <stoker/losses.h>
#include <stoker/metrics.h>
#include <stoker/ops.h>

#include "nn/masks.h"
#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker::over_time {  // its streams, not the other files' of this program
namespace {

using namespace test;

enum Stream : uint64_t {
  kInput = 0,
  kCotangent = 1,
  kIds = 2,
  kTargets = 3,
  kSampleWeights = 4,
  kStepWeights = 5,
  kWeights = 20
};

struct LayerCase {
  const char* name;
  Layer layer;
};

std::vector<LayerCase> layer_cases() {
  return {
      {"conv", Conv1D(6, 3)},
      {"conv_same", Conv1D(6, 4, {.padding = "same", .activation = "relu"})},
      {"conv_same_stride", Conv1D(6, 4, {.strides = 2, .padding = "same"})},
      {"conv_stride", Conv1D(3, 2, {.strides = 3, .use_bias = false})},
      {"conv_dilated", Conv1D(6, 3, {.dilation_rate = 2})},
      {"conv_causal", Conv1D(6, 3, {.padding = "causal", .activation = "tanh"})},
      {"conv_causal_dilated", Conv1D(6, 3, {.padding = "causal", .dilation_rate = 3})},
      {"conv_causal_stride", Conv1D(6, 2, {.strides = 2, .padding = "causal"})},
      {"conv_groups", Conv1D(6, 3, {.padding = "same", .groups = 2})},
      {"depthwise", DepthwiseConv1D(3, {.depth_multiplier = 2})},
      {"depthwise_same_stride", DepthwiseConv1D(4, {.strides = 2, .padding = "same"})},
      {"depthwise_dilated", DepthwiseConv1D(2, {.padding = "same", .dilation_rate = 2})},
      {"separable", SeparableConv1D(5, 3, {.depth_multiplier = 2})},
      {"separable_same", SeparableConv1D(5, 4, {.padding = "same", .activation = "relu"})},
      {"separable_stride", SeparableConv1D(5, 3, {.strides = 2, .padding = "same"})},
      {"transpose", Conv1DTranspose(5, 3)},
      {"transpose_stride", Conv1DTranspose(5, 3, {.strides = 2})},
      {"transpose_wide_stride", Conv1DTranspose(5, 2, {.strides = 3})},
      {"transpose_same", Conv1DTranspose(5, 4, {.strides = 2, .padding = "same"})},
      {"transpose_same_odd",
       Conv1DTranspose(5, 3, {.strides = 2, .padding = "same", .activation = "relu"})},
      {"transpose_same_wide", Conv1DTranspose(5, 2, {.strides = 3, .padding = "same"})},
      {"transpose_more", Conv1DTranspose(5, 3, {.strides = 2, .output_padding = 1})},
      {"transpose_same_more",
       Conv1DTranspose(5, 5, {.strides = 3, .padding = "same", .output_padding = 2})},
      {"max_pool", MaxPooling1D()},
      {"max_pool_same", MaxPooling1D(3, {.strides = 2, .padding = "same"})},
      {"average_pool", AveragePooling1D()},
      {"average_pool_same", AveragePooling1D(3, {.strides = 2, .padding = "same"})},
      {"global_average", GlobalAveragePooling1D()},
      {"global_average_keep", GlobalAveragePooling1D({.keepdims = true})},
      {"global_max", GlobalMaxPooling1D()},
      {"global_max_keep", GlobalMaxPooling1D({.keepdims = true})},
      {"zero_padding", ZeroPadding1D()},
      {"zero_padding_apart", ZeroPadding1D({2, 0})},
      {"cropping", Cropping1D()},
      {"cropping_apart", Cropping1D({0, 3})},
      {"up_sampling", UpSampling1D(3)},
  };
}

void draw_weights(const std::vector<Variable>& weights, uint64_t seed) {
  for (size_t i = 0; i < weights.size(); ++i) {
    Variable weight = weights[i];
    weight.write(drawn(seed, kWeights + i, weight.shape()));
  }
}

using Sequences = DeviceTest;

TEST_P(Sequences, LayersOverTimeHaveKerasValuesAndGradients) {
  Recording recording("sequences");
  Shape sequence = {2, 9, 4};
  size_t parts = 0;
  for (const LayerCase& one : layer_cases()) {
    SCOPED_TRACE(one.name);
    std::string name = fmt::format("layer/{}/", one.name);
    one.layer.base().ensure_built({sequence});
    std::vector<Variable> weights = one.layer.weights();
    draw_weights(weights, recording.seed());
    Expected output = recording.expected(name + "output");
    std::vector<Tensor> inputs = {drawn(recording.seed(), kInput, sequence),
                                  drawn(recording.seed(), kCotangent, output.values.shape())};
    std::vector<Tensor> outputs = run_once(device(), inputs, [&](const Values& traced) {
      Value y = one.layer(traced[0]);
      Value loss = ops::sum(y * traced[1]);
      Values found = {y, gradients(loss, Values{traced[0]})[0]};
      for (const Value& gradient : gradients(loss, weights)) found.push_back(gradient);
      return found;
    });
    EXPECT_TRUE(agrees(outputs[0], output));
    for (size_t i = 1; i < outputs.size(); ++i)
      EXPECT_TRUE(agrees(outputs[i], recording.expected(fmt::format("{}gradient{}", name, i - 1))));
    parts += outputs.size();
  }
  EXPECT_EQ(recording.names("layer/").size(), parts);
}

// float [3, 7, 4], zeros where the id is 0.
Tensor masked_sequence(uint64_t seed) {
  Tensor ids = drawn_integers(seed, kIds, {3, 7}, 5), x = drawn(seed, kInput, {3, 7, 4}).clone();
  for (int64_t i = 0; i < x.elements(); ++i)
    if (ids.at(i / 4) == 0) x.data_mut<float>()[i] = 0;
  return x;
}

struct MaskedCase {
  const char* name;
  std::function<Value(const Value&)> body;
};

std::vector<MaskedCase> masked_cases() {
  Layer pool = GlobalAveragePooling1D();
  return {
      {"pooled",
       [=, dense = Dense(3, {.activation = "tanh"})](const Value& x) { return pool(dense(x)); }},
      {"kept", [norm = LayerNormalization(), kept = GlobalAveragePooling1D({.keepdims = true})](
                   const Value& x) { return kept(norm(x)); }},
      {"batch_norm", [norm = BatchNormalization()](const Value& x) { return norm(x); }},
      {"added",
       [=, add = Add(), dense = Dense(4)](const Value& x) {
         return pool(add({x, dense(x)}));
       }},
      {"joined",
       [=, join = Concatenate(), conv = Conv1D(2, 1)](const Value& x) {
         return pool(join({x, conv(x)}));
       }},
      {"in_a_row",
       [=, join = Concatenate(1), dense = Dense(4)](const Value& x) {
         return pool(join({x, dense(x)}));
       }},
      {"dropped",
       [=, conv = Conv1D(3, 2, {.padding = "causal"})](const Value& x) { return pool(conv(x)); }},
  };
}

// Holds the layers of a body, so that their weights can be drawn.
class Body : public LayerBase {
 public:
  explicit Body(std::function<Value(const Value&)> body) : body_(std::move(body)) {}
  std::string kind() const override { return "Body"; }
  Values call(const Values& inputs, CallContext&) override { return {body_(mask_(inputs[0]))}; }

 private:
  Layer mask_ = Masking();
  std::function<Value(const Value&)> body_;
};

TEST_P(Sequences, MasksGoThroughLayersAsInKeras) {
  Recording recording("sequences");
  for (const MaskedCase& one : masked_cases()) {
    SCOPED_TRACE(one.name);
    std::string name = fmt::format("masked/{}/", one.name);
    Layer layer = make_layer<Body>(one.body);
    layer(Input({-1, 4}));
    draw_weights(layer.trainable_weights(), recording.seed());
    Expected output = recording.expected(name + "output");
    std::vector<Tensor> inputs = {masked_sequence(recording.seed()),
                                  drawn(recording.seed(), kCotangent, output.values.shape())};
    std::vector<Tensor> outputs = run_once(device(), inputs, [&](const Values& traced) {
      Value y = layer(traced[0]);
      return Values{y, gradients(ops::sum(y * traced[1]), Values{traced[0]})[0]};
    });
    EXPECT_TRUE(agrees(outputs[0], output));
    EXPECT_TRUE(agrees(outputs[1], recording.expected(name + "gradient0")));
    for (const Variable& weight : layer.weights())
      if (!weight.trainable()) {
        std::string moving = weight.name().substr(weight.name().rfind('/') + 1);
        EXPECT_TRUE(agrees(weight.read(), recording.expected(name + moving)));
      }
  }
}

Tensor targets(uint64_t seed, const std::string& kind) {
  Tensor classes = drawn_integers(seed, kTargets, {3, 7}, 4);
  if (kind == "ids") return classes;
  if (kind == "reals") return drawn(seed, kTargets, {3, 7, 4});
  Tensor one_hot = Tensor::zeros({3, 7, 4});
  for (int64_t i = 0; i < 21; ++i) one_hot.data_mut<float>()[i * 4 + int64_t(classes.at(i))] = 1;
  return one_hot;
}

// Undefined for "plain".
Tensor weights_of(uint64_t seed, const std::string& weighting) {
  Range range{.limit = 1, .centre = 1};
  if (weighting == "samples") return drawn(seed, kSampleWeights, {3}, range);
  if (weighting == "steps") return drawn(seed, kStepWeights, {3, 7}, range);
  return {};
}

// The predictions of a case, with the mask of the ids that are not 0.
Value masked_predictions(const Value& y_pred, uint64_t seed) {
  Tensor ids = drawn_integers(seed, kIds, {3, 7}, 5);
  set_mask(y_pred, ops::not_equal(ids, 0), "test");
  return y_pred;
}

TEST_P(Sequences, LossesLeaveOutWhatIsMasked) {
  Recording recording("sequences");
  struct {
    const char *name, *kind;
    Loss loss;
  } cases[] = {{"mse", "reals", MeanSquaredError()},
               {"mae", "reals", MeanAbsoluteError()},
               {"huber", "reals", Huber()},
               {"sparse", "ids", SparseCategoricalCrossentropy({.from_logits = true})},
               {"categorical", "one_hot", CategoricalCrossentropy({.from_logits = true})},
               {"binary", "one_hot", BinaryCrossentropy({.from_logits = true})}};
  uint64_t seed = recording.seed();
  for (const auto& one : cases)
    for (std::string weighting : {"plain", "samples", "steps"}) {
      SCOPED_TRACE(one.name + weighting);
      Tensor weights = weights_of(seed, weighting);
      std::vector<Tensor> inputs = {targets(seed, one.kind), drawn(seed, kInput, {3, 7, 4})};
      std::vector<Tensor> outputs = run_once(device(), inputs, [&](const Values& traced) {
        Value y_pred = masked_predictions(traced[1], seed);
        Value loss = one.loss(traced[0], y_pred, weights.defined() ? Value(weights) : Value());
        return Values{loss, gradients(loss, Values{y_pred})[0]};
      });
      std::string name = fmt::format("loss/{}/{}/", one.name, weighting);
      EXPECT_TRUE(agrees(outputs[0], recording.expected(name + "value")));
      EXPECT_TRUE(agrees(outputs[1], recording.expected(name + "gradient0")));
    }
}

TEST_P(Sequences, MetricsLeaveOutWhatIsMasked) {
  Recording recording("sequences");
  struct {
    const char *name, *kind;
    Metric metric;
  } cases[] = {{"sparse_accuracy", "ids", SparseCategoricalAccuracy()},
               {"accuracy", "one_hot", CategoricalAccuracy()},
               {"binary_accuracy", "one_hot", BinaryAccuracy()},
               {"mse", "reals", MeanSquaredErrorMetric()}};
  uint64_t seed = recording.seed();
  for (const auto& one : cases)
    for (std::string weighting : {"plain", "samples", "steps"}) {
      SCOPED_TRACE(one.name + weighting);
      Tensor weights = weights_of(seed, weighting);
      Metric metric = one.metric.clone();
      std::vector<Tensor> inputs = {targets(seed, one.kind), drawn(seed, kInput, {3, 7, 4})};
      run_once(device(), inputs, [&](const Values& traced) {
        Value y_pred = masked_predictions(traced[1], seed);
        metric.update(traced[0], y_pred, weights.defined() ? Value(weights) : Value());
        return Values{y_pred * 1.0};
      });
      EXPECT_TRUE(
          agrees(Tensor(float(metric.result())),
                 recording.expected(fmt::format("metric/{}/{}/value", one.name, weighting))));
    }
}

INSTANTIATE_TEST_SUITE_P(Parity, Sequences, kDevices, device_name);

}  // namespace
}  // namespace stoker::over_time
