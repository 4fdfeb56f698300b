// Losses against Keras: keras_values.py. Values per sample, their mean with and without sample
// weights, and the gradient of the mean.

#include <gtest/gtest.h>
#include <stoker/losses.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr int64_t kLossRows = 6, kClasses = 5;
const Shape kShape = {kLossRows, kClasses};

// The targets and predictions that keras_values.py names so.
struct LossData {
  uint64_t seed;

  Tensor labels() const { return drawn_integers(seed, 0, {kLossRows}, kClasses); }
  Tensor one_hot() const {
    Tensor result = Tensor::zeros(kShape);
    Tensor classes = labels();
    for (int64_t row = 0; row < kLossRows; ++row)
      result.data_mut<float>()[row * kClasses + classes.data<int64_t>()[row]] = 1;
    return result;
  }
  Tensor bits() const { return drawn_integers(seed, 1, kShape, 2).cast(DType::float32); }
  Tensor reals() const { return drawn(seed, 2, kShape, {.limit = 2}); }
  Tensor probabilities() const { return drawn(seed, 3, kShape, {.limit = 0.5, .centre = 0.5}); }
  Tensor logits() const { return drawn(seed, 4, kShape, {.limit = 4}); }
  Tensor certainties() const { return drawn_integers(seed, 5, kShape, 2).cast(DType::float32); }
  Tensor sample_weights() const { return drawn(seed, 6, {kLossRows}, {.limit = 1, .centre = 1}); }
};

struct LossCase {
  std::string name;
  Loss loss;
  Tensor targets, predictions;
};

std::vector<LossCase> loss_cases(const LossData& data) {
  Tensor labels = data.labels(), one_hot = data.one_hot(), bits = data.bits(), reals = data.reals(),
         probabilities = data.probabilities(), logits = data.logits();
  CrossentropyOptions from_logits{.from_logits = true}, smooth{.label_smoothing = 0.125},
      smooth_logits{.from_logits = true, .label_smoothing = 0.125};
  return {
      {"sparse_categorical", SparseCategoricalCrossentropy(), labels, probabilities},
      {"sparse_categorical_logits", SparseCategoricalCrossentropy({.from_logits = true}), labels,
       logits},
      {"categorical", CategoricalCrossentropy(), one_hot, probabilities},
      {"categorical_logits", CategoricalCrossentropy(from_logits), one_hot, logits},
      {"categorical_smooth", CategoricalCrossentropy(smooth), one_hot, probabilities},
      {"categorical_smooth_logits", CategoricalCrossentropy(smooth_logits), one_hot, logits},
      {"binary", BinaryCrossentropy(), bits, probabilities},
      {"binary_logits", BinaryCrossentropy(from_logits), bits, logits},
      {"binary_smooth", BinaryCrossentropy(smooth), bits, probabilities},
      {"binary_smooth_logits", BinaryCrossentropy(smooth_logits), bits, logits},
      {"binary_certain", BinaryCrossentropy(), bits, data.certainties()},
      {"mean_squared_error", MeanSquaredError(), reals, logits},
      {"mean_absolute_error", MeanAbsoluteError(), reals, logits},
      {"huber", Huber(), reals, logits},
      {"huber_half", Huber(0.5), reals, logits},
  };
}

using Losses = DeviceTest;

TEST_P(Losses, HaveKerasValuesAndGradients) {
  Recording recording("losses");
  LossData data{recording.seed()};
  std::vector<LossCase> cases = loss_cases(data);
  for (const LossCase& one : cases) {
    std::vector<Tensor> inputs = {one.targets, one.predictions, data.sample_weights()};
    std::vector<Tensor> outputs = run_once(device(), inputs, [&](const Values& traced) {
      const Value &y_true = traced[0], &y_pred = traced[1];
      Value value = one.loss(y_true, y_pred);
      return Values{one.loss.per_sample(y_true, y_pred), value, one.loss(y_true, y_pred, traced[2]),
                    gradients(value, Values{y_pred})[0]};
    });
    const char* parts[] = {"per_sample", "value", "weighted", "gradient"};
    for (size_t part = 0; part < outputs.size(); ++part)
      EXPECT_TRUE(
          agrees(outputs[part], recording.expected("loss/" + one.name + "/" + parts[part])));
  }
  EXPECT_EQ(recording.names("loss/").size(), 4 * cases.size());
}

INSTANTIATE_TEST_SUITE_P(Parity, Losses, kDevices, device_name);

}  // namespace
}  // namespace stoker
