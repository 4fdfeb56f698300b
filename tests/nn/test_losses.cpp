#include <cmath>

#include <stoker/losses.h>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

// The loss of targets and what `predict` makes of `x`, and its gradient with respect to x.
struct Result {
  Tensor loss, gradient;
};
Result evaluate(const Loss& loss, const Tensor& y_true, const Tensor& x,
                const std::function<Value(const Value&)>& predict, const std::string& device) {
  std::vector<Tensor> found = run({y_true, x},
                                  [&](Graph&, const Values& in) {
                                    Value value = loss(in[0], predict(in[1]));
                                    return Values{value, gradients(value, Values{in[1]})[0]};
                                  },
                                  {.device = device});
  return {found[0], found[1]};
}

Value itself(const Value& x) { return x; }
Value softmax(const Value& x) { return ops::softmax(x); }

Tensor per_sample(const Loss& loss, const Tensor& y_true, const Tensor& y_pred) {
  return run({y_true, y_pred},
             [&](Graph&, const Values& in) { return Values{loss.per_sample(in[0], in[1])}; })[0];
}

double log_sum_exp(const std::vector<double>& logits) {
  double sum = 0;
  for (double logit : logits) sum += std::exp(logit);
  return std::log(sum);
}

bool has_op(const Graph& graph, std::string_view op) {
  for (const Node& node : graph.nodes())
    if (node.op->name == op) return true;
  return false;
}

TEST(SparseCategoricalCrossentropy, IsTheLogOfTheProbability) {
  Tensor logits = floats({1, 2, 3, 0, 0, 5}, {2, 3});
  double first = log_sum_exp({1, 2, 3}) - 2, second = log_sum_exp({0, 0, 5}) - 5;
  for (const std::string& device : devices())
    for (DType dtype : {DType::uint8, DType::int32, DType::int64, DType::float32})
      for (const Shape& shape : {Shape{2}, Shape{2, 1}}) {
        Tensor labels = floats({1, 2}, shape).cast(dtype);
        Result found = evaluate("sparse_categorical_crossentropy", labels, logits, softmax, device);
        EXPECT_TRUE(near(found.loss, {(first + second) / 2})) << device << " " << name(dtype);
        EXPECT_NEAR(found.gradient.at(1), (std::exp(-first) - 1) / 2, 1e-6) << device;
      }
}

TEST(SparseCategoricalCrossentropy, IsFiniteForExtremeLogits) {
  Tensor logits = floats({1e4F, -1e4F, 0, -1e4F, 1e4F, 0}, {2, 3});
  for (const std::string& device : devices()) {
    Result found = evaluate("sparse_categorical_crossentropy", Tensor::from<int32_t>({0, 0}, {2}),
                            logits, softmax, device);
    EXPECT_TRUE(near(found.loss, {1e4})) << device;
    EXPECT_TRUE(near(found.gradient, {0, 0, 0, -0.5, 0.5, 0})) << device;
  }
}

TEST(Crossentropies, LookThroughSoftmaxAndSigmoidToTheLogits) {
  Graph graph;
  Value x = graph.input("x", {DType::float32, {2, 6}});
  Value ids = graph.input("ids", {DType::int32, {2}});
  sparse_categorical_crossentropy(ids, ops::softmax(x));
  EXPECT_TRUE(has_op(graph, "sparse_softmax_cross_entropy"));
  categorical_crossentropy(x, ops::softmax(x));
  EXPECT_TRUE(has_op(graph, "softmax_cross_entropy"));
  binary_crossentropy(x, ops::reshape(ops::sigmoid(ops::reshape(x, {3, 4})), {2, 6}));
  EXPECT_TRUE(has_op(graph, "sigmoid_cross_entropy"));
}

TEST(Crossentropies, LookThroughAReshapeThatLeavesTheClassesAlone) {
  Graph graph;
  Value x = graph.input("x", {DType::float32, {4, 3}});
  Value ids = graph.input("ids", {DType::int32, {2, 2}});
  sparse_categorical_crossentropy(ids, ops::reshape(ops::softmax(x), {2, 2, 3}));
  EXPECT_TRUE(has_op(graph, "sparse_softmax_cross_entropy"));
  Graph other;
  x = other.input("x", {DType::float32, {4, 3}});
  sparse_categorical_crossentropy(other.input("ids", {DType::int32, {2}}),
                                  ops::reshape(ops::softmax(x), {2, 6}));
  EXPECT_FALSE(has_op(other, "sparse_softmax_cross_entropy"));
}

TEST(SparseCategoricalCrossentropy, OfProbabilitiesClipsAndNormalises) {
  Tensor p = floats({0.2F, 0.6F, 0, 1}, {2, 2});
  Tensor labels = Tensor::from<int32_t>({1, 0}, {2});
  EXPECT_TRUE(near(per_sample("sparse_categorical_crossentropy", labels, p),
                   {-std::log(0.75), -std::log(1e-7)}));
}

TEST(SparseCategoricalCrossentropy, AveragesOverTheAxesOfASample) {
  Tensor p = floats({0.5F, 0.5F, 0.25F, 0.75F}, {1, 2, 2});
  EXPECT_TRUE(
      near(per_sample("sparse_categorical_crossentropy", Tensor::from<int32_t>({0, 1}, {1, 2}), p),
           {(-std::log(0.5) - std::log(0.75)) / 2}));
}

TEST(SparseCategoricalCrossentropy, RefusesAClassIdBeyondTheClasses) {
  for (DType dtype : {DType::int32, DType::uint8})
    EXPECT_EQ(message_of<ValueError>([&] {
                evaluate("sparse_categorical_crossentropy", floats({1, 3}, {2, 1}).cast(dtype),
                         floats({1, 2, 3, 0, 0, 5}, {2, 3}), softmax, "reference");
              }),
              "input \"input 0\": class id 3 at element 1 is outside [0, 3)");
}

TEST(CategoricalCrossentropy, IsTheSparseOneForOneHotTargets) {
  Tensor logits = random_tensor({3, 4});
  Tensor one_hot = floats({0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0}, {3, 4});
  for (const std::string& device : devices()) {
    Result dense = evaluate("categorical_crossentropy", one_hot, logits, softmax, device);
    Result sparse = evaluate("sparse_categorical_crossentropy",
                             Tensor::from<int64_t>({1, 3, 0}, {3}), logits, softmax, device);
    EXPECT_TRUE(near(dense.loss, sparse.loss)) << device;
    EXPECT_TRUE(near(dense.gradient, sparse.gradient)) << device;
    Result bytes =
        evaluate("categorical_crossentropy", one_hot.cast(DType::uint8), logits, softmax, device);
    EXPECT_TRUE(near(bytes.loss, sparse.loss)) << device;
  }
}

TEST(CategoricalCrossentropy, SmoothsLabels) {
  double all = log_sum_exp({1, 2});
  Tensor loss = per_sample(CategoricalCrossentropy({.from_logits = true, .label_smoothing = 0.2}),
                           floats({0, 1}, {1, 2}), floats({1, 2}, {1, 2}));
  EXPECT_TRUE(near(loss, {0.1 * (all - 1) + 0.9 * (all - 2)}));
}

TEST(CategoricalCrossentropy, OfProbabilitiesNormalises) {
  EXPECT_TRUE(near(
      per_sample("categorical_crossentropy", floats({0.5F, 0.5F}, {1, 2}), floats({2, 6}, {1, 2})),
      {-0.5 * (std::log(0.25) + std::log(0.75))}));
}

TEST(BinaryCrossentropy, AveragesOverTheLastAxis) {
  Tensor p = floats({0.9F, 0.2F}, {1, 2}), y = floats({1, 0}, {1, 2});
  EXPECT_TRUE(
      near(per_sample("binary_crossentropy", y, p), {-(std::log(0.9) + std::log(0.8)) / 2}));
  EXPECT_TRUE(near(per_sample("bce", Tensor::from<uint8_t>({1}, {1}), floats({0}, {1, 1})),
                   {-std::log(1e-7)}, 1e-4));
}

TEST(BinaryCrossentropy, IsFiniteForExtremeLogitsBehindASigmoid) {
  for (const std::string& device : devices()) {
    Result found = evaluate(
        "binary_crossentropy", floats({1, 0, 1}, {3}), floats({1e4F, 1e4F, -1e4F}, {3, 1}),
        [](const Value& x) { return ops::sigmoid(x); }, device);
    EXPECT_TRUE(near(found.loss, {2e4 / 3})) << device;
    EXPECT_TRUE(near(found.gradient, {0, 1.0 / 3, -1.0 / 3})) << device;
  }
}

TEST(BinaryCrossentropy, SmoothsLabels) {
  Tensor loss = per_sample(BinaryCrossentropy({.label_smoothing = 0.2}), floats({1}, {1, 1}),
                           floats({0.9F}, {1, 1}));
  EXPECT_TRUE(near(loss, {-0.9 * std::log(0.9) - 0.1 * std::log(0.1)}));
}

TEST(Regression, IsKeras) {
  Tensor y = floats({0, 1, 2, 4}, {2, 2}), p = floats({1, 1, 2, 0}, {2, 2});
  EXPECT_TRUE(near(per_sample("mse", y, p), {0.5, 8}));
  EXPECT_TRUE(near(per_sample("mean_absolute_error", y, p), {0.5, 2}));
  EXPECT_TRUE(near(per_sample(Huber(2), y, p), {0.25, 3}));
  EXPECT_TRUE(
      near(per_sample("mse", Tensor::from<int32_t>({1, 3}, {2}), floats({2, 5}, {2, 1})), {1, 4}));
}

TEST(Huber, HasABoundedGradient) {
  for (const std::string& device : devices()) {
    Result found = evaluate(Huber(1), floats({0, 0}, {2}), floats({0.5F, 10}, {2}), itself, device);
    EXPECT_TRUE(near(found.gradient, {0.25, 0.5})) << device;
  }
}

TEST(Loss, WeighsSamples) {
  Tensor y = floats({0, 0}, {2, 1}), p = floats({1, 2}, {2, 1});
  for (const Shape& shape : {Shape{2}, Shape{2, 1}}) {
    Tensor loss = run({y, p, floats({10, 1}, shape)}, [](Graph&, const Values& in) {
      return Values{Loss("mse")(in[0], in[1], in[2])};
    })[0];
    EXPECT_TRUE(near(loss, {(10.0 + 4.0) / 2}));
  }
}

TEST(Loss, OfOnesOwnIsAveragedPerSample) {
  Loss own("distance",
           [](const Value& y_true, const Value& y_pred) { return ops::abs(y_pred - y_true); });
  EXPECT_TRUE(own.custom());
  EXPECT_TRUE(
      near(per_sample(own, floats({0, 0, 0, 0}, {2, 2}), floats({1, 3, 5, 7}, {2, 2})), {2, 6}));
  Loss scalar("total", [](const Value&, const Value& y_pred) { return ops::sum(y_pred); });
  EXPECT_TRUE(near(per_sample(scalar, floats({0, 0}, {2}), floats({1, 3}, {2})), {4, 4}));
}

// The values are Keras's, 3.15.
TEST(OverlapLosses, TakeSampleWeightsAsInKeras) {
  Tensor y = floats({1, 0, 1, 1, 0, 1, 0, 1}, {2, 4});
  Tensor p = floats({0.9F, 0.2F, 0.6F, 0.7F, 0.1F, 0.8F, 0.3F, 0.4F}, {2, 4});
  auto weighted = [&](const Loss& loss) {
    return run({y, p, floats({1, 3}, {2})},
               [&](Graph&, const Values& in) { return Values{loss(in[0], in[1], in[2])}; })[0];
  };
  auto expect = [&](const std::string& reduction, const std::vector<int64_t>& axis, double dice,
                    double tversky) {
    EXPECT_TRUE(near(weighted(Dice({.reduction = reduction, .axis = axis})), {dice})) << reduction;
    EXPECT_TRUE(
        near(weighted(Tversky({.alpha = 0.3, .beta = 0.7, .reduction = reduction, .axis = axis})),
             {tversky}))
        << reduction;
  };
  expect("sum_over_batch_size", {}, 0.48888886, 0.41860473);
  expect("sum", {}, 0.97777772, 0.83720946);
  expect("mean_with_sample_weight", {}, 0.24444443, 0.20930237);
  expect("sum_over_batch_size", {1}, 0.59259260, 0.52713180);
  expect("sum", {1}, 1.18518519, 1.05426359);
  expect("mean_with_sample_weight", {1}, 0.29629630, 0.26356590);
}

TEST(Loss, KnowsItsTargets) {
  TensorSpec prediction{DType::float32, {-1, 10}};
  EXPECT_EQ(
      Loss("sparse_categorical_crossentropy").target_spec(prediction, {DType::uint8, {-1, 1}}),
      (TensorSpec{DType::int32, {-1}}));
  EXPECT_EQ(Loss("categorical_crossentropy").target_spec(prediction, {DType::uint8, {32, 10}}),
            (TensorSpec{DType::float32, {-1, 10}}));
  EXPECT_EQ(Loss("mse").target_spec({DType::float32, {32, 1}}, {DType::int64, {32}}),
            (TensorSpec{DType::float32, {32, 1}}));
}

}  // namespace
}  // namespace stoker::test
