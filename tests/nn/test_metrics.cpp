#include <cmath>

#include <stoker/confusion_metrics.h>
#include <stoker/metrics.h>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

// One step of a metric; its sums stay.
void step(const Metric& metric, const Tensor& y_true, const Tensor& y_pred,
          const Tensor& weight = {}, const std::string& device = "reference") {
  std::vector<Tensor> inputs = {y_true, y_pred};
  if (weight.defined()) inputs.push_back(weight);
  run(inputs,
      [&](Graph&, const Values& in) {
        metric.update(in[0], in[1], in.size() > 2 ? in[2] : Value());
        return Values{in[1]};
      },
      {.device = device});
}

double once(const Metric& metric, const Tensor& y_true, const Tensor& y_pred,
            const Tensor& weight = {}) {
  step(metric, y_true, y_pred, weight);
  return metric.result();
}

const Tensor kScores =
    floats({0.1F, 0.7F, 0.2F, 0.5F, 0.3F, 0.2F, 0.2F, 0.3F, 0.5F, 0.6F, 0.1F, 0.3F}, {4, 3});
const Tensor kIds = Tensor::from<int32_t>({1, 0, 0, 2}, {4});
const Tensor kOneHot = floats({0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1}, {4, 3});

TEST(Accuracy, IsWhatTheShapesSay) {
  EXPECT_DOUBLE_EQ(once("accuracy", kIds, kScores), 0.5);
  EXPECT_DOUBLE_EQ(once("acc", Tensor::from<uint8_t>({1, 0, 0, 2}, {4, 1}), kScores), 0.5);
  EXPECT_DOUBLE_EQ(once("accuracy", kOneHot, kScores), 0.5);
  Tensor probabilities = floats({0.9F, 0.4F, 0.5F}, {3, 1});
  EXPECT_NEAR(once("accuracy", floats({1, 0, 1}, {3, 1}), probabilities), 2.0 / 3, 1e-12);
  EXPECT_NEAR(once("accuracy", Tensor::from<int64_t>({1, 0, 1}, {3}), probabilities), 2.0 / 3,
              1e-12);
}

TEST(Accuracy, AddsUpOverStepsUntilReset) {
  for (const std::string& device : devices()) {
    Metric metric = "accuracy";
    step(metric, kIds, kScores, {}, device);
    step(metric, Tensor::from<int32_t>({1}, {1}), floats({0, 1, 0}, {1, 3}), {}, device);
    EXPECT_DOUBLE_EQ(metric.result(), 3.0 / 5) << device;
    metric.reset();
    EXPECT_DOUBLE_EQ(metric.result(), 0) << device;
    step(metric, kIds, kScores, {}, device);
    EXPECT_DOUBLE_EQ(metric.result(), 0.5) << device;
  }
}

TEST(Accuracy, WeighsSamples) {
  EXPECT_NEAR(once("accuracy", kIds, kScores, floats({1, 2, 4, 8}, {4})), 3.0 / 15, 1e-6);
  Tensor pairs = floats({0.9F, 0.1F, 0.2F, 0.3F}, {2, 2});
  EXPECT_NEAR(once("binary_accuracy", floats({1, 1, 0, 0}, {2, 2}), pairs, floats({3, 1}, {2})),
              (3 * 0.5 + 1 * 1.0) / 4, 1e-6);
}

TEST(Accuracy, CountsBeyondWhatAFloatCanCount) {
  Metric metric = "accuracy";
  int64_t many = int64_t(1) << 25;
  for (size_t sum : {0U, 1U}) {
    Variable count = metric.state()[sum];
    count.write(Tensor::from({many}, {}));
  }
  step(metric, Tensor::from<int32_t>({1}, {1}), floats({0, 1, 0}, {1, 3}));
  EXPECT_EQ(metric.state()[1].read().at(0), double(many + 1));
  step(metric, Tensor::from<int32_t>({2}, {1}), floats({0, 1, 0}, {1, 3}));
  EXPECT_DOUBLE_EQ(metric.result(), double(many + 1) / double(many + 2));
}

TEST(BinaryAccuracy, HasAThreshold) {
  Tensor p = floats({0.9F, 0.6F, 0.2F}, {3, 1}), y = floats({1, 1, 0}, {3, 1});
  EXPECT_DOUBLE_EQ(once(BinaryAccuracy(), y, p), 1);
  EXPECT_NEAR(once(BinaryAccuracy(0.7), y, p), 2.0 / 3, 1e-12);
}

TEST(TopK, CountsTheTargetAmongTheBest) {
  EXPECT_DOUBLE_EQ(once(SparseTopKCategoricalAccuracy(1), kIds, kScores), 0.5);
  EXPECT_DOUBLE_EQ(once(SparseTopKCategoricalAccuracy(2), kIds, kScores), 0.75);
  EXPECT_DOUBLE_EQ(once(TopKCategoricalAccuracy(2), kOneHot, kScores), 0.75);
  Tensor sequences = kScores.reshape({2, 2, 3});
  EXPECT_DOUBLE_EQ(once(SparseTopKCategoricalAccuracy(2), kIds.reshape({2, 2}), sequences), 0.75);
}

TEST(PrecisionAndRecall, CountByHand) {
  Tensor p = floats({0.9F, 0.8F, 0.7F, 0.1F, 0.2F}, {5, 1}), y = floats({1, 0, 1, 1, 0}, {5, 1});
  EXPECT_NEAR(once("precision", y, p), 2.0 / 3, 1e-12);
  EXPECT_NEAR(once("recall", y, p), 2.0 / 3, 1e-12);
  EXPECT_NEAR(once(Precision(0.85), y, p), 1, 1e-12);
  EXPECT_NEAR(once(Recall(0.05), y, p), 1, 1e-12);
  Tensor weight = floats({1, 2, 3, 4, 5}, {5});
  EXPECT_NEAR(once("precision", y, p, weight), 4.0 / 6, 1e-6);
  EXPECT_NEAR(once("recall", y, p, weight), 4.0 / 8, 1e-6);
  EXPECT_DOUBLE_EQ(once("precision", y, floats({0, 0, 0, 0, 0}, {5, 1})), 0);
}

TEST(Mean, OfErrors) {
  Tensor y = floats({0, 0}, {2, 1}), p = floats({1, 3}, {2, 1});
  EXPECT_NEAR(once("mse", y, p), 5, 1e-6);
  EXPECT_NEAR(once(MeanAbsoluteErrorMetric(), y, p), 2, 1e-6);
  EXPECT_NEAR(once("mae", y, p, floats({3, 1}, {2})), 6.0 / 4, 1e-6);
  EXPECT_NEAR(once("binary_crossentropy", y, floats({0.5F, 0.5F}, {2, 1})), std::log(2.0), 1e-6);
}

TEST(Metric, OfOnesOwnIsAveraged) {
  Metric own("within_one", [](const Value& y_true, const Value& y_pred) {
    return ops::less(ops::abs(y_pred - y_true), 1.0);
  });
  EXPECT_EQ(own.name(), "within_one");
  EXPECT_NEAR(once(own, floats({0, 0, 0, 0}, {4}), floats({0.5F, 2, -0.5F, 0}, {4})), 0.75, 1e-6);
}

TEST(Metric, IsNamedAsWrittenOrAsKerasDoes) {
  EXPECT_EQ(Metric("mse").name(), "mse");
  EXPECT_EQ(Metric("mse").kind(), "MeanSquaredError");
  EXPECT_EQ(SparseTopKCategoricalAccuracy().name(), "sparse_top_k_categorical_accuracy");
  EXPECT_EQ(FBetaScore().name(), "fbeta_score");
  EXPECT_EQ(Precision(0.5, {.name = "p", .output = "head"}).name(), "p");
  EXPECT_EQ(Precision(0.5, {.name = "p", .output = "head"}).output(), "head");
}

TEST(Metric, ClonesHaveSumsOfTheirOwn) {
  Metric metric = BinaryAccuracy(0.7, {.name = "strict"});
  Metric copy = metric.clone();
  step(metric, floats({1}, {1, 1}), floats({0.9F}, {1, 1}));
  EXPECT_DOUBLE_EQ(metric.result(), 1);
  EXPECT_DOUBLE_EQ(copy.result(), 0);
  EXPECT_EQ(copy.name(), "strict");
  EXPECT_EQ(copy.config(), metric.config());
  for (const Variable& sum : copy.state()) EXPECT_EQ(sum.category(), MemoryCategory::metrics);
}

TEST(Metric, UpdatedTwiceInOneStepCountsBoth) {
  Metric metric = "accuracy";
  run({kIds, kScores}, [&](Graph&, const Values& in) {
    metric.update(in[0], in[1]);
    metric.update(in[0], in[1]);
    return Values{in[1]};
  });
  EXPECT_EQ(metric.state()[1].read().at(0), 8);
}

}  // namespace
}  // namespace stoker::test
