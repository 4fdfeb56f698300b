// No plausible number comes out of NaN: predict returns it, evaluate and validation report it, fit
// refuses it. On every device.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "support/tsan.h"
#include "train/helpers.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {
namespace {

using test::Data;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class NanData : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(NanData);

// Layers that an engine computes as one with the relu, or the maximum, behind them.
std::vector<std::pair<std::string, std::vector<Layer>>> hiding_networks() {
  return {
      {"dense + relu", {Flatten(), Dense(16, {.activation = "relu"})}},
      {"dense + relu twice",
       {Flatten(), Dense(16, {.activation = "relu"}), Dense(16, {.activation = "relu"})}},
      {"dense + relu6", {Flatten(), Dense(16, {.activation = "relu6"})}},
      {"dense + leaky_relu", {Flatten(), Dense(16, {.activation = "leaky_relu"})}},
      {"dense + sigmoid", {Flatten(), Dense(16, {.activation = "sigmoid"})}},
      {"dense + tanh", {Flatten(), Dense(16, {.activation = "tanh"})}},
      {"dense + gelu", {Flatten(), Dense(16, {.activation = "gelu"})}},
      {"stem", {Conv2D(16, 3, {.activation = "relu"}), MaxPooling2D(2), Flatten()}},
      {"conv + relu, conv + relu",
       {Conv2D(16, 3, {.activation = "relu"}), Conv2D(8, 3, {.activation = "relu"}), Flatten()}},
      {"conv + norm + relu",
       {Conv2D(16, 3, {.use_bias = false}), BatchNormalization(), Activation("relu"),
        GlobalAveragePooling2D()}},
      {"conv + pool + relu",
       {Conv2D(16, 3), MaxPooling2D(2), Activation("relu"), GlobalMaxPooling2D()}},
      {"overlapping pool", {MaxPooling2D(3, {.strides = 1}), Flatten()}},
      {"dropout", {Flatten(), Dropout(0.5), Dense(16, {.activation = "relu"})}},
      {"layer norm", {Flatten(), LayerNormalization(), Dense(8, {.activation = "relu"})}},
  };
}

Sequential with_head(std::vector<Layer> layers) {
  layers.insert(layers.begin(), Input({8, 8, 3}));
  layers.push_back(Dense(5, {.activation = "softmax"}));
  return Sequential(layers);
}

// Images, of which number 2 has a bad pixel.
Data spoiled_images(int64_t count, float bad) {
  Tensor x = test::normal({count, 8, 8, 3}, 5), y = Tensor::zeros({count}, DType::int32);
  x.data_mut<float>()[2 * 8 * 8 * 3 + 100] = bad;
  return {x, y};
}

void compile(const Model& model) {
  model.compile({.optimizer = "sgd",
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy", SparseTopKCategoricalAccuracy(3)}});
}

bool row_is_nan(const Tensor& rows, int64_t row) {
  int64_t width = rows.elements() / rows.shape()[0];
  for (int64_t i = 0; i < width; ++i)
    if (!std::isnan(rows.at(row * width + i))) return false;
  return true;
}

TEST_P(NanData, ComesOutOfPredictWhereItWentIn) {
  for (const auto& [name, layers] : hiding_networks()) {
    SCOPED_TRACE(name);
    Tensor outputs = with_head(layers).predict(spoiled_images(6, kNan).x);
    for (int64_t row = 0; row < 6; ++row) EXPECT_EQ(row_is_nan(outputs, row), row == 2) << row;
  }
}

TEST_P(NanData, MakesLossAndMetricsOfEvaluateNan) {
  for (const auto& [name, layers] : hiding_networks()) {
    SCOPED_TRACE(name);
    Sequential model = with_head(layers);
    compile(model);
    Data good = spoiled_images(6, 0), bad = spoiled_images(6, kNan);
    Logs logs = model.evaluate(bad.x, bad.y, {.batch_size = 2});
    for (size_t i = 0; i < logs.size(); ++i)
      EXPECT_TRUE(std::isnan(logs.value(i))) << logs.names()[i] << " is " << logs.value(i);
    Logs after = model.evaluate(good.x, good.y);
    for (size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(std::isfinite(after.value(i)));
  }
}

TEST_P(NanData, MakesValidationNan) {
  Sequential model = with_head({Conv2D(16, 3, {.activation = "relu"}), Flatten()});
  compile(model);
  Data good = spoiled_images(6, 0), bad = spoiled_images(6, kNan);
  History history = model.fit(good.x, good.y, {.validation_data = {bad.x, bad.y}, .verbose = 0});
  EXPECT_TRUE(std::isnan(history["val_loss"][0]));
  EXPECT_TRUE(std::isnan(history["val_accuracy"][0])) << history["val_accuracy"][0];
  EXPECT_TRUE(std::isfinite(history["accuracy"][0]));
}

TEST_P(NanData, IsRefusedByFitAlsoBehindFrozenLayers) {
  for (float bad : {kNan, kInfinity, -kInfinity})
    for (bool trainable : {true, false})
      for (const auto& [name, layers] : hiding_networks()) {
        if (name == "dropout") continue;  // may drop it
        // A finite maximum or activation beside an infinity is the right answer.
        if (!std::isnan(bad) && (name == "overlapping pool" || name.starts_with("dense + ")))
          continue;
        SCOPED_TRACE(name + (trainable ? ", " : ", frozen, ") + std::to_string(bad));
        Sequential model = with_head(layers);
        for (size_t i = 0; i + 1 < model.layers().size(); ++i)
          model.layers()[i].set_trainable(trainable);
        compile(model);
        Data data = spoiled_images(6, bad);
        std::vector<Tensor> before = model.get_weights();
        EXPECT_THROW(model.fit(data.x, data.y, {.batch_size = 6, .verbose = 0}), NonFiniteError);
        EXPECT_EQ(model.get_weights(), before);
      }
}

TEST_P(NanData, InWeightsIsSeenByFitAndPredict) {
  for (size_t which : {0, 1}) {  // kernel, bias
    Sequential model = with_head({Flatten(), Dense(16, {.activation = "relu"})});
    compile(model);
    std::vector<Tensor> weights = model.get_weights();
    weights[which].data_mut<float>()[3] = kNan;
    Data data = spoiled_images(6, 0);
    model.fit(data.x, data.y, {.verbose = 0});
    model.set_weights(weights);
    EXPECT_TRUE(row_is_nan(model.predict(data.x), 0));
    EXPECT_THROW(model.fit(data.x, data.y, {.verbose = 0}), NonFiniteError);
  }
}

TEST_P(NanData, InFloatTargetsMakesMetricsNan) {
  Sequential model({Input({4}), Dense(2, {.activation = "sigmoid"})});
  model.compile({.optimizer = "sgd",
                 .loss = "mse",
                 .metrics = {"binary_accuracy", Precision(), Recall(), "mse"}});
  Tensor x = test::normal({6, 4}, 1), y = Tensor::full({6, 2}, 1);
  y.data_mut<float>()[5] = kNan;
  Logs logs = model.evaluate(x, y);
  for (size_t i = 0; i < logs.size(); ++i)
    EXPECT_TRUE(std::isnan(logs.value(i))) << logs.names()[i] << " is " << logs.value(i);
}

TEST_P(NanData, OfOneOutputLeavesTheMetricsOfAnotherAlone) {
  Value input = Input({4});
  Value first = Dense(2, {.name = "first"})(input);
  Value second = Dense(2, {.name = "second"})(ops::log(input));
  Model model({input}, {first, second});
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"accuracy"}});
  Tensor x = test::normal({6, 4}, 1), y = Tensor::zeros({6, 2});
  Logs logs = model.evaluate(x, {y, y});
  EXPECT_TRUE(std::isfinite(logs["first_accuracy"]));
  EXPECT_TRUE(std::isnan(logs["second_accuracy"]));
}

// How often a training step computes relu apart from the product before it.
size_t relus_apart(bool trainable) {
  Sequential model =
      with_head({Conv2D(16, 3, {.activation = "relu"}), Conv2D(16, 3, {.activation = "relu"}),
                 Flatten(), Dense(16, {.activation = "relu"})});
  for (size_t i = 0; i + 1 < model.layers().size(); ++i) model.layers()[i].set_trainable(trainable);
  compile(model);
  Data data = spoiled_images(6, 0);
  model.train_on_batch(data.x, data.y);
  const Program& program =
      *ModelAccess::base(model).trainer->programs.latest(int(StepKind::train))->program;
  return size_t(std::ranges::count_if(program.kernels(), [](const KernelInfo& kernel) {
    return kernel.op == "unary" && kernel.phase == Phase::forward;
  }));
}

TEST(GuardedTraining, KeepsReluInItsProductsOnTheCpuUnlessTheyAreFrozen) {
  STOKER_SKIP_UNDER_TSAN();
  test::OnDevice device("cpu");
  EXPECT_EQ(relus_apart(true), 0);
  EXPECT_EQ(relus_apart(false), 3);
}

}  // namespace
}  // namespace stoker
