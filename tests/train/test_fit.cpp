#include <algorithm>
#include <sstream>

#include "train/helpers.h"

namespace stoker {
namespace {

using test::blobs;
using test::Data;

class Fit : public test::DeviceTest {
 protected:
  static Sequential classifier(const Optimizer& optimizer = "adam") {
    Sequential model(
        {Input({4}), Dense(16, {.activation = "relu"}), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = optimizer,
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"}});
    return model;
  }
  static Sequential linear(double learning_rate = 0.1) {
    Sequential model({Input({2}), Dense(1)});
    model.compile({.optimizer = SGD({.learning_rate = learning_rate}), .loss = "mse"});
    return model;
  }
};
INSTANTIATE_ON_DEVICES(Fit);

TEST_P(Fit, LearnsAndRemembersEveryEpoch) {
  Data train = blobs(200, 4, 3, 7), test = blobs(50, 4, 3, 7);
  Sequential model = classifier(Adam({.learning_rate = 0.01}));
  History history = model.fit(train.x, train.y, {.epochs = 8, .validation_data = {test.x, test.y}});
  EXPECT_EQ(history.names(),
            (std::vector<std::string>{"loss", "accuracy", "val_loss", "val_accuracy"}));
  EXPECT_EQ(history["loss"].size(), 8U);
  EXPECT_EQ(history.epochs(), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(history.params().steps, 7);
  EXPECT_LT(history["loss"].back(), 0.5 * history["loss"].front());
  EXPECT_GT(history["val_accuracy"].back(), 0.9);
  EXPECT_TRUE(
      test::says(test::error_of<ValueError>([&] { history["acc"]; }), {"acc", "val_accuracy"}));
  Logs scores = model.evaluate(test.x, test.y);
  EXPECT_NEAR(scores["loss"], history["val_loss"].back(), 1e-6);
  EXPECT_EQ(scores["accuracy"], history["val_accuracy"].back());
}

TEST_P(Fit, TheLossOfAnEpochIsTheMeanOverItsSamples) {
  Data data = test::line(10, 3);  // batches of 4, 4 and 2
  Sequential model = linear(0);
  History history = model.fit(data.x, data.y, {.batch_size = 4});
  Tensor p = model.predict(data.x);
  double sum = 0;
  for (int64_t i = 0; i < 10; ++i) sum += std::pow(p.at(i) - data.y.at(i), 2);
  EXPECT_NEAR(history["loss"][0], sum / 10, 1e-5 * sum);
  EXPECT_NEAR(model.evaluate(data.x, data.y, {.batch_size = 3})["loss"], sum / 10, 1e-5 * sum);
}

TEST_P(Fit, ValidationSplitTakesTheLastSamplesBeforeShuffling) {
  Data data = test::line(10, 3);
  // The last three are of another kind: a model that has never seen them is wrong there.
  Tensor y = data.y.clone();
  for (int64_t row = 7; row < 10; ++row) y.data_mut<float>()[row] = 100;
  Sequential model = linear();
  History history = model.fit(data.x, y, {.epochs = 60, .batch_size = 7, .validation_split = 0.3});
  EXPECT_LT(history["loss"].back(), 1.0);
  EXPECT_GT(history["val_loss"].back(), 1000.0);
  EXPECT_NEAR(model.evaluate(data.x.slice(7, 10), y.slice(7, 10))["loss"],
              history["val_loss"].back(), 1e-2);
}

TEST_P(Fit, ShuffleIsAFunctionOfSeedAndEpoch) {
  Data data = test::line(40, 3);
  auto train = [&](uint64_t seed, bool shuffle) {
    set_seed(5);
    Sequential model({Input({2}), Dense(1)});
    set_seed(seed);
    model.compile({.optimizer = SGD({.learning_rate = 0.3}), .loss = "mse"});
    model.fit(data.x, data.y, {.epochs = 1, .batch_size = 4, .shuffle = shuffle});
    return model.get_weights();
  };
  EXPECT_EQ(train(1, true), train(1, true));
  EXPECT_NE(train(1, true), train(2, true));
  EXPECT_EQ(train(1, false), train(2, false));
}

TEST_P(Fit, GoesOnWhereInitialEpochSays) {
  Data data = blobs(64, 4, 3, 7);
  Sequential whole = classifier(), parts = classifier();
  parts.set_weights(whole.get_weights());
  whole.fit(data.x, data.y, {.epochs = 4});
  parts.fit(data.x, data.y, {.epochs = 2});
  History rest = parts.fit(data.x, data.y, {.epochs = 4, .initial_epoch = 2});
  EXPECT_EQ(rest.epochs(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(whole.get_weights(), parts.get_weights());
}

TEST_P(Fit, SampleWeightsScaleTheLossOfASample) {
  Data data = test::line(6, 3);
  Tensor weights = Tensor::from({1.0F, 0.0F, 2.0F, 0.5F, 0.0F, 3.0F}, {6});
  Sequential model = linear(0.1);
  Tensor kernel = model.get_weights()[0];
  Tensor p = model.predict(data.x);
  double loss = 0, gradient = 0;
  for (int64_t i = 0; i < 6; ++i) {
    double error = p.at(i) - data.y.at(i);
    loss += weights.at(i) * error * error / 6;
    gradient += weights.at(i) * 2 * error * data.x.at(2 * i) / 6;
  }
  EXPECT_NEAR(model.evaluate(data.x, data.y, {.sample_weight = weights})["loss"], loss, 1e-4);
  History history = model.fit(data.x, data.y, {.batch_size = 6, .sample_weight = weights});
  EXPECT_NEAR(history["loss"][0], loss, 1e-4);
  EXPECT_NEAR(model.get_weights()[0].at(0), kernel.at(0) - 0.1 * gradient, 1e-5);
}

TEST_P(Fit, ClassWeightsAreSampleWeightsByClass) {
  Data data = blobs(30, 4, 3, 7);
  Tensor weights(DType::float32, {30});
  const float by_class[] = {1.0F, 0.25F, 4.0F};
  for (int64_t i = 0; i < 30; ++i)
    weights.data_mut<float>()[i] = by_class[data.y.data<int32_t>()[i]];
  auto train = [&](FitArgs args) {
    set_seed(3);
    Sequential model = classifier();
    args.epochs = 2;
    args.batch_size = 8;
    model.fit(data.x, data.y, args);
    return model.get_weights();
  };
  std::vector<Tensor> by_sample = train({.sample_weight = weights});
  EXPECT_EQ(train({.class_weight = {{1, 0.25}, {2, 4.0}}}), by_sample);
  EXPECT_NE(train({}), by_sample);
  // Batches get theirs one by one.
  std::vector<Batch> batches = {{data.x.slice(0, 15), data.y.slice(0, 15)},
                                {data.x.slice(15, 30), data.y.slice(15, 30)}};
  std::vector<Batch> weighted;
  for (int64_t at : {0, 15})
    weighted.push_back(
        {data.x.slice(at, at + 15), data.y.slice(at, at + 15), weights.slice(at, at + 15)});
  auto from_batches = [&](const std::vector<Batch>& list, const FitArgs& args) {
    set_seed(3);
    Sequential model = classifier();
    model.fit(list, args);
    return model.get_weights();
  };
  EXPECT_EQ(from_batches(batches, {.class_weight = {{1, 0.25}, {2, 4.0}}}),
            from_batches(weighted, {}));
}

TEST_P(Fit, OneHotTargetsHaveClassesToo) {
  Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "categorical_crossentropy"});
  Tensor x = test::normal({2, 4}, 1);
  Tensor y = Tensor::from({0.0F, 1.0F, 0.0F, 0.0F, 0.0F, 1.0F}, {2, 3});
  Tensor p = model.predict(x);
  double expected = -(5 * std::log(p.at(1)) + 0.5 * std::log(p.at(5))) / 2;
  History history = model.fit(x, y, {.class_weight = {{1, 5.0}, {2, 0.5}}});
  EXPECT_NEAR(history["loss"][0], expected, 1e-5);
}

TEST_P(Fit, AccumulatedBatchesEqualOneLargeOne) {
  Data data = blobs(24, 4, 3, 7);
  auto train = [&](const Optimizer& optimizer, int64_t batch_size) {
    set_seed(3);
    Sequential model = classifier(optimizer);
    model.fit(data.x, data.y, {.epochs = 3, .batch_size = batch_size, .shuffle = false});
    return model.get_weights();
  };
  std::vector<Tensor> large = train(SGD({.learning_rate = 0.1, .momentum = 0.9}), 24);
  test::expect_near(
      train(SGD({.learning_rate = 0.1, .momentum = 0.9, .gradient_accumulation_steps = 4}), 6),
      large, 1e-5);
}

TEST_P(Fit, SeveralInputsAndOutputsHaveTheirLosses) {
  Value a = Input({2}, {.name = "a"}), b = Input({3}, {.name = "b"});
  Value both =
      Concatenate()({Dense(4, {.activation = "relu"})(a), Dense(4, {.activation = "relu"})(b)});
  Model model({a, b}, {Dense(1, {.name = "value"})(both),
                       Dense(2, {.activation = "softmax", .name = "kind"})(both)});
  model.compile({.optimizer = Adam({.learning_rate = 0.01}),
                 .loss = {"mse", "sparse_categorical_crossentropy"},
                 .loss_weights = {0.5, 2},
                 .metrics = {SparseCategoricalAccuracy({.name = "accuracy", .output = "kind"})}});
  Tensor xa = test::normal({32, 2}, 1), xb = test::normal({32, 3}, 2),
         value = test::normal({32, 1}, 3);
  Tensor kind(DType::int32, {32});
  for (int64_t i = 0; i < 32; ++i) kind.data_mut<int32_t>()[i] = xa.at(2 * i) > 0;
  History history = model.fit({xa, xb}, {value, kind}, {.epochs = 30, .batch_size = 8});
  EXPECT_EQ(history.names(),
            (std::vector<std::string>{"loss", "value_loss", "kind_loss", "kind_accuracy"}));
  for (size_t epoch = 0; epoch < 30; ++epoch)
    EXPECT_NEAR(history["loss"][epoch],
                0.5 * history["value_loss"][epoch] + 2 * history["kind_loss"][epoch], 1e-4);
  EXPECT_GT(history["kind_accuracy"].back(), 0.9);
  std::vector<Tensor> outputs = model.predict_all({xa, xb});
  EXPECT_EQ(outputs[0].shape(), (Shape{32, 1}));
  EXPECT_EQ(outputs[1].shape(), (Shape{32, 2}));
  EXPECT_TRUE(test::says(test::error_of<ValueError>([&] {
                           model.predict({xa, xb});
                         }),
                         {"predict_all"}));
}

TEST_P(Fit, RegularizersJoinTheLoss) {
  Sequential model(
      {Input({2}), Dense(1, {.kernel_initializer = "ones", .kernel_regularizer = L2(0.5)})});
  model.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "mse"});
  Tensor zero = Tensor::zeros({3, 2});
  EXPECT_NEAR(model.fit(zero, Tensor::zeros({3, 1}), {})["loss"][0], 0.5 * 2, 1e-6);
}

TEST_P(Fit, PredictionsKeepTheOrderOfTheRows) {
  Sequential model({Input({1}), Dense(1, {.kernel_initializer = "ones"})});
  Tensor x(DType::float32, {70, 1});
  for (int64_t i = 0; i < 70; ++i) x.data_mut<float>()[i] = float(i);
  EXPECT_EQ(model.predict(x), x);
  EXPECT_EQ(model.predict(x, {.batch_size = 7}), x);
  std::vector<Batch> batches = {{x.slice(0, 50)}, {x.slice(50, 70), Tensor(0.0F)}};
  EXPECT_EQ(model.predict(batches), x);
}

TEST_P(Fit, SingleStepsCountFromTheLastReset) {
  Data data = test::line(8, 3);
  Sequential model = linear(0.05), same = linear(0.05);
  same.set_weights(model.get_weights());
  double first = model.train_on_batch(data.x, data.y)["loss"];
  Logs logs = model.train_on_batch(Batch{data.x, data.y});
  double mean = logs["loss"];
  EXPECT_LT(mean, first);
  model.reset_metrics();
  EXPECT_EQ(logs["loss"], 0);  // live
  same.fit(data.x, data.y, {.epochs = 2, .batch_size = 8, .shuffle = false});
  EXPECT_EQ(model.get_weights(), same.get_weights());
  EXPECT_NEAR(model.test_on_batch(data.x, data.y)["loss"], model.evaluate(data.x, data.y)["loss"],
              1e-6);
}

TEST_P(Fit, PrintsALineAnEpochWhereTheContextSays) {
  Data data = test::line(10, 3);
  Sequential model = linear();
  std::ostringstream out;
  default_context().out = &out;
  model.fit(data.x, data.y, {.epochs = 2, .batch_size = 4, .validation_split = 0.2});
  model.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  std::string text = out.str();
  EXPECT_TRUE(test::says(
      text, {"Epoch 1/2  2 steps  ", "Epoch 2/2  2 steps", " samples/s  loss ", "  val_loss "}));
  int named = GetParam() == "cuda" ? 1 : 0;  // a device that is not the host, in a line of its own
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + named);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST_P(Fit, TwoRunsOfOneSeedAreTheSameToTheLastBit) {
  Data data = blobs(50, 4, 3, 7);
  auto train = [&](uint64_t seed) {
    set_seed(seed);
    Sequential model({Input({4}), Dense(8, {.activation = "relu"}), Dropout(0.3),
                      Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    model.fit(data.x, data.y, {.epochs = 3, .batch_size = 16});
    return model.get_weights();
  };
  EXPECT_EQ(train(11), train(11));
  EXPECT_NE(train(11), train(12));
}

}  // namespace
}  // namespace stoker
