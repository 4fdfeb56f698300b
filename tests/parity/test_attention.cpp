// Attention layers, EinsumDense and norms against Keras: keras_attention.py.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/layers.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker::attending {  // its streams, not the other files' of this program
namespace {

using namespace test;

enum Stream : uint64_t { kInput = 0, kCotangent = 10, kKernel = 20 };

Tensor value_mask() {
  return Tensor::from(std::vector<bool>{1, 1, 1, 0, 1, 1, 1, 0, 0, 0}, {2, 5});
}
Tensor query_mask() { return Tensor::from(std::vector<bool>{1, 1, 0, 1, 1, 0, 0, 0}, {2, 4}); }
Tensor attention_mask(bool first_seen = false) {
  Tensor mask = Tensor::zeros({2, 4, 5}, DType::bool_);
  for (int64_t i = 0; i < mask.elements(); ++i)
    mask.data_mut<bool>()[i] =
        (i / 5 % 4 + 2 * (i % 5) + i / 20) % 3 != 0 || (first_seen && i % 5 == 0);
  return mask;
}

struct AttentionCase {
  std::string name;
  std::vector<Shape> inputs;
  std::function<Values(const Values&)> call;
  Layer layer;
};

AttentionCase attention(std::string name, std::vector<Shape> inputs, const AttentionLayer& layer,
                        const AttentionCall& call = {}) {
  return {std::move(name), std::move(inputs),
          [=](const Values& x) {
            return x.size() > 2 ? layer.call_all(x[0], x[1], x[2], call)
                                : layer.call_all(x[0], x[1], call);
          },
          layer};
}

AttentionCase plain(std::string name, const Shape& input, const Layer& layer) {
  return {std::move(name), {input}, [=](const Values& x) { return layer.call_all(x); }, layer};
}

MultiHeadAttention heads(const MultiHeadAttentionOptions& options = {}) { return {3, 4, options}; }
GroupedQueryAttention grouped(const GroupedQueryAttentionOptions& options = {}) {
  return {4, 4, 2, options};
}

std::vector<AttentionCase> attention_cases() {
  const Shape q{2, 4, 6}, v{2, 5, 6};
  const std::vector<Shape> cross = {q, v}, self = {q, q}, three = {q, v, v};
  const AttentionCall causal{.use_causal_mask = true}, scores{.return_attention_scores = true};
  return {
      attention("heads", cross, heads()),
      attention("heads_key", three, heads({.value_dim = 2, .use_bias = false})),
      attention("heads_causal", self, heads(), causal),
      attention("heads_value_mask", cross, heads(), {.value_mask = value_mask()}),
      attention("heads_mask", three, heads(), {.attention_mask = attention_mask()}),
      attention("heads_masks", cross, heads(),
                {.value_mask = value_mask(),
                 .attention_mask = attention_mask(/*first_seen=*/true),
                 .use_causal_mask = true}),
      attention("heads_scores", cross, heads(), scores),
      attention("heads_scores_masked", cross, heads(),
                {.query_mask = query_mask(),
                 .value_mask = value_mask(),
                 .return_attention_scores = true}),
      attention("heads_output", cross, heads({.output_shape = {2, 3}})),
      attention("heads_gate", cross, heads({.use_gate = true})),
      attention("heads_window", self, heads({.sliding_window = 2}), causal),
      attention("heads_axes", {{2, 3, 4, 6}, {2, 3, 5, 6}}, heads({.attention_axes = Axes(2)})),
      attention("heads_two_axes", {{2, 2, 3, 6}, {2, 2, 3, 6}}, heads()),
      attention("grouped", cross, grouped()),
      attention("grouped_causal", self, grouped({.use_bias = false}), causal),
      attention("grouped_mask", cross, grouped({.use_gate = true}),
                {.attention_mask = attention_mask()}),
      attention("grouped_scores", cross, grouped(), scores),
      attention("dot", cross, Attention()),
      attention("dot_key", three, Attention({.use_scale = true}), scores),
      attention("dot_causal", self, Attention(), causal),
      attention("dot_masked", cross, Attention(),
                {.query_mask = query_mask(), .value_mask = value_mask()}),
      attention("dot_concat", cross, Attention({.use_scale = true, .score_mode = "concat"}),
                scores),
      attention("additive", cross, AdditiveAttention()),
      attention("additive_masked", three, AdditiveAttention(),
                {.query_mask = query_mask(),
                 .value_mask = value_mask(),
                 .return_attention_scores = true}),
      attention("additive_plain", self, AdditiveAttention({.use_scale = false}), causal),
      plain("einsum", q,
            EinsumDense("abc,cd->abd", {-1, 3}, {.activation = "tanh", .bias_axes = "d"})),
      plain("einsum_heads", q, EinsumDense("...x,xyz->...yz", {2, 3}, {.bias_axes = "yz"})),
      plain("einsum_two", {2, 3, 4, 2}, EinsumDense("abcd,cde->abe", {-1, 5}, {.bias_axes = "e"})),
      plain("einsum_turned", q, EinsumDense("abc,cd->adb", {3, -1}, {.bias_axes = "d"})),
      plain("einsum_stack", q, EinsumDense("abc,bcd->abd", {4, 3})),
      plain("einsum_right", q, EinsumDense("ab...,bc->ac...", {3}, {.bias_axes = "c"})),
      plain("einsum_lost", q, EinsumDense("abc,cd->ad", {3})),
      plain("rms", q, RMSNormalization()),
      plain("rms_axes", q, RMSNormalization({.axis = {1, 2}, .epsilon = 0.01})),
      plain("group", {2, 3, 4, 6}, GroupNormalization({.groups = 3})),
      plain("group_axis", {2, 4, 3}, GroupNormalization({.groups = 2, .axis = 1, .epsilon = 0.01})),
      plain("group_each", q, GroupNormalization({.groups = -1, .center = false})),
  };
}

// Outputs, then the gradients of inputs and weights.
std::vector<Tensor> run_case(const std::string& device, const AttentionCase& one, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < one.inputs.size(); ++i)
    inputs.push_back(drawn(seed, kInput + i, one.inputs[i]));
  run_once(device, inputs, [&](const Values& x) { return one.call(x); });  // makes the weights
  std::vector<Variable> weights = one.layer.base().trainable_weights();
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i].write(drawn(seed, kKernel + i, weights[i].shape(), {.limit = 0.75}));
  return run_once(device, inputs, [&](const Values& x) {
    Values outputs = one.call(x), wrt = x;
    Value loss;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Value term = ops::sum(outputs[i] * Value(drawn(seed, kCotangent + i, outputs[i].shape())));
      loss = loss.defined() ? loss + term : term;
    }
    wrt.insert(wrt.end(), weights.begin(), weights.end());
    Values found = gradients(loss, wrt, {.unconnected = Unconnected::zeros});
    outputs.insert(outputs.end(), found.begin(), found.end());
    return outputs;
  });
}

using Attending = DeviceTest;

TEST_P(Attending, LayersGiveKerasOutputsScoresAndGradients) {
  Recording recording("attention");
  size_t results = 0;
  for (const AttentionCase& one : attention_cases()) {
    SCOPED_TRACE(one.name);
    std::vector<Tensor> got = run_case(device(), one, recording.seed());
    size_t outputs = recording.names(one.name + "/output").size();
    ASSERT_EQ(got.size(), outputs + recording.names(one.name + "/gradient").size());
    for (size_t i = 0; i < got.size(); ++i) {
      std::string what =
          i < outputs ? fmt::format("output{}", i) : fmt::format("gradient{}", i - outputs);
      EXPECT_TRUE(agrees(got[i], recording.expected(fmt::format("{}/{}", one.name, what))));
    }
    results += got.size();
  }
  size_t recorded = 0;
  for (const std::string& name : recording.names(""))
    recorded += size_t(name.find('/') != std::string::npos && !name.starts_with("noise/"));
  EXPECT_EQ(results, recorded);
}

INSTANTIATE_TEST_SUITE_P(Parity, Attending, kDevices, device_name);

}  // namespace
}  // namespace stoker::attending
