// Metrics against Keras: keras_values.py. Two batches, the second with sample weights; scores are
// quarters and probabilities eighths, so that equal scores and values at a threshold occur.

#include <gtest/gtest.h>
#include <stoker/metrics.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr int64_t kBatch = 16, kClasses = 8;

// Whole numbers in [0, below) divided by below - 1.
Tensor fractions(uint64_t seed, uint64_t stream, const Shape& shape, int64_t below) {
  Tensor result = drawn_integers(seed, stream, shape, below).cast(DType::float32);
  float* values = result.data_mut<float>();
  for (int64_t i = 0; i < shape.elements(); ++i) values[i] /= float(below - 1);
  return result;
}

// What keras_values.py names so, for step 0 or 1.
struct Data {
  uint64_t seed, step;

  Tensor scores() const { return fractions(seed, 30 + step, {kBatch, kClasses}, 5); }
  Tensor classes() const { return drawn_integers(seed, 40 + step, {kBatch}, kClasses); }
  Tensor one_hot_classes() const {
    Tensor result = Tensor::zeros({kBatch, kClasses});
    Tensor all = classes();
    for (int64_t row = 0; row < kBatch; ++row)
      result.data_mut<float>()[row * kClasses + all.data<int64_t>()[row]] = 1;
    return result;
  }
  Tensor verdicts() const { return fractions(seed, 50 + step, {kBatch, 1}, 9); }
  Tensor truths() const { return fractions(seed, 60 + step, {kBatch, 1}, 2); }
  Tensor weights() const { return drawn(seed, 70, {kBatch}, {.limit = 1, .centre = 1}); }
};

using Draw = Tensor (Data::*)() const;
struct MetricCase {
  std::string name;
  Metric metric;
  Draw targets, predictions;
};

std::vector<MetricCase> metric_cases() {
  return {
      {"sparse_categorical_accuracy", SparseCategoricalAccuracy(), &Data::classes, &Data::scores},
      {"categorical_accuracy", CategoricalAccuracy(), &Data::one_hot_classes, &Data::scores},
      {"binary_accuracy", BinaryAccuracy(), &Data::truths, &Data::verdicts},
      {"binary_accuracy_quarter", BinaryAccuracy(0.25), &Data::truths, &Data::verdicts},
      {"top_2", TopKCategoricalAccuracy(2), &Data::one_hot_classes, &Data::scores},
      {"top_5", TopKCategoricalAccuracy(), &Data::one_hot_classes, &Data::scores},
      {"sparse_top_3", SparseTopKCategoricalAccuracy(3), &Data::classes, &Data::scores},
      {"precision", Precision(), &Data::truths, &Data::verdicts},
      {"precision_quarter", Precision(0.25), &Data::truths, &Data::verdicts},
      {"recall", Recall(), &Data::truths, &Data::verdicts},
      {"recall_quarter", Recall(0.25), &Data::truths, &Data::verdicts},
      {"mean_squared_error", MeanSquaredErrorMetric(), &Data::one_hot_classes, &Data::scores},
      {"mean_absolute_error", MeanAbsoluteErrorMetric(), &Data::one_hot_classes, &Data::scores},
  };
}

using Metrics = DeviceTest;

TEST_P(Metrics, CountAsKeras) {
  Recording recording("losses");
  std::vector<MetricCase> cases = metric_cases();
  for (const MetricCase& one : cases) {
    Data first{recording.seed(), 0}, second{recording.seed(), 1};
    std::vector<float> results;
    run_once(device(), {(first.*one.targets)(), (first.*one.predictions)()},
             [&](const Values& inputs) {
               one.metric.update(inputs[0], inputs[1]);
               return Values{};
             });
    results.push_back(float(one.metric.result()));
    run_once(device(), {(second.*one.targets)(), (second.*one.predictions)(), second.weights()},
             [&](const Values& inputs) {
               one.metric.update(inputs[0], inputs[1], inputs[2]);
               return Values{};
             });
    results.push_back(float(one.metric.result()));
    EXPECT_TRUE(agrees(Tensor::from(results, {2}), recording.expected("metric/" + one.name)));
  }
  EXPECT_EQ(recording.names("metric/").size(), cases.size());
}

INSTANTIATE_TEST_SUITE_P(Parity, Metrics, kDevices, device_name);

}  // namespace
}  // namespace stoker
