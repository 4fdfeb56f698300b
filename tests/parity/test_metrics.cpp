// Metrics against Keras: keras_values.py. Two batches, the second with sample weights; scores are
// quarters and probabilities eighths, so that equal scores and values at a threshold occur.

#include <gtest/gtest.h>
#include <stoker/metrics.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr int64_t kRows = 16, kColumns = 8;

// Whole numbers in [0, below) divided by below - 1.
Tensor fractions(uint64_t seed, uint64_t stream, const Shape& shape, int64_t below) {
  Tensor result = drawn_integers(seed, stream, shape, below).cast(DType::float32);
  float* values = result.data_mut<float>();
  for (int64_t i = 0; i < shape.elements(); ++i) values[i] /= float(below - 1);
  return result;
}

// What keras_values.py names so, for step 0 or 1.
struct MetricData {
  uint64_t seed, step;

  Tensor scores() const { return fractions(seed, 30 + step, {kRows, kColumns}, 5); }
  Tensor classes() const { return drawn_integers(seed, 40 + step, {kRows}, kColumns); }
  Tensor one_hot_classes() const {
    Tensor result = Tensor::zeros({kRows, kColumns});
    Tensor all = classes();
    for (int64_t row = 0; row < kRows; ++row)
      result.data_mut<float>()[row * kColumns + all.data<int64_t>()[row]] = 1;
    return result;
  }
  Tensor verdicts() const { return fractions(seed, 50 + step, {kRows, 1}, 9); }
  Tensor truths() const { return fractions(seed, 60 + step, {kRows, 1}, 2); }
  Tensor weights() const { return drawn(seed, 70, {kRows}, {.limit = 1, .centre = 1}); }
};

using Draw = Tensor (MetricData::*)() const;
struct MetricCase {
  std::string name;
  Metric metric;
  Draw targets, predictions;
};

std::vector<MetricCase> metric_cases() {
  return {
      {"sparse_categorical_accuracy", SparseCategoricalAccuracy(), &MetricData::classes,
       &MetricData::scores},
      {"categorical_accuracy", CategoricalAccuracy(), &MetricData::one_hot_classes,
       &MetricData::scores},
      {"binary_accuracy", BinaryAccuracy(), &MetricData::truths, &MetricData::verdicts},
      {"binary_accuracy_quarter", BinaryAccuracy(0.25), &MetricData::truths, &MetricData::verdicts},
      {"top_2", TopKCategoricalAccuracy(2), &MetricData::one_hot_classes, &MetricData::scores},
      {"top_5", TopKCategoricalAccuracy(), &MetricData::one_hot_classes, &MetricData::scores},
      {"sparse_top_3", SparseTopKCategoricalAccuracy(3), &MetricData::classes, &MetricData::scores},
      {"precision", Precision(), &MetricData::truths, &MetricData::verdicts},
      {"precision_quarter", Precision(0.25), &MetricData::truths, &MetricData::verdicts},
      {"recall", Recall(), &MetricData::truths, &MetricData::verdicts},
      {"recall_quarter", Recall(0.25), &MetricData::truths, &MetricData::verdicts},
      {"mean_squared_error", MeanSquaredErrorMetric(), &MetricData::one_hot_classes,
       &MetricData::scores},
      {"mean_absolute_error", MeanAbsoluteErrorMetric(), &MetricData::one_hot_classes,
       &MetricData::scores},
  };
}

using Metrics = DeviceTest;

TEST_P(Metrics, CountAsKeras) {
  Recording recording("losses");
  std::vector<MetricCase> cases = metric_cases();
  for (const MetricCase& one : cases) {
    MetricData first{recording.seed(), 0}, second{recording.seed(), 1};
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
