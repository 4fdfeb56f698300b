// What goes wrong is said in one clear error, and what was trained so far is kept.
#include <limits>

#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;

class Errors : public test::DeviceTest {
 protected:
  static Sequential classifier() {
    Sequential model({Input({4}, {.name = "points"}), Dense(8, {.activation = "tanh"}),
                      Dense(3, {.activation = "softmax", .name = "kinds"})});
    model.compile(
        {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
    return model;
  }
  test::Data data_ = test::blobs(40, 4, 3, 7);
};
INSTANTIATE_ON_DEVICES(Errors);

TEST_P(Errors, TrainingBeforeCompile) {
  Sequential model({Input({4}), Dense(3)});
  for (const auto& action : std::vector<std::function<void()>>{
           [&] { model.fit(data_.x, data_.y); }, [&] { model.evaluate(data_.x, data_.y); },
           [&] { model.train_on_batch(data_.x, data_.y); },
           [&] {
             model.fit(std::vector<Batch>{{data_.x, data_.y}});
           }})
    EXPECT_TRUE(says(error_of<Error>(action), {"not compiled", "compile({"}));
  EXPECT_NO_THROW(model.predict(data_.x));
}

TEST_P(Errors, UnknownNames) {
  Sequential model({Input({4}), Dense(3)});
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.compile({.optimizer = "adamm", .loss = "mse"}); }),
           {"adamm", "\"adam\""}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.compile({.loss = "mss"}); }), {"mss", "mse"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.compile({.loss = "mse", .metrics = {"acuracy"}}); }),
           {"acuracy", "accuracy"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.compile(
                         {.loss = "mse", .metrics = {BinaryAccuracy(0.5, {.output = "other"})}});
                   }),
                   {"\"other\"", "dense"}));
  EXPECT_FALSE(model.compiled());
}

TEST_P(Errors, ShapesThatDoNotFitNameTheInput) {
  Sequential model = classifier();
  EXPECT_TRUE(says(error_of<ShapeError>([&] {
                     model.fit(test::normal({40, 5}, 1), data_.y);
                   }),
                   {"fit", "\"points\"", "[None, 4]", "[40, 5]"}));
  EXPECT_TRUE(says(error_of<ShapeError>([&] {
                     model.predict(test::normal({2, 4, 4}, 1));
                   }),
                   {"predict", "\"points\"", "[2, 4, 4]"}));
  EXPECT_TRUE(says(error_of<ShapeError>([&] { model(test::normal({2, 3}, 1)); }), {"\"points\""}));
  EXPECT_TRUE(says(error_of<ShapeError>([&] {
                     model.fit(data_.x, test::normal({40, 2}, 1));
                   }),
                   {"fit", "target", "\"kinds\"", "[40, 2]"}));
  EXPECT_TRUE(says(error_of<ShapeError>([&] {
                     model.fit(std::vector<Batch>{{test::normal({4, 5}, 1), data_.y.slice(0, 4)}});
                   }),
                   {"\"points\"", "[4, 5]"}));
}

TEST_P(Errors, LengthsThatDiffer) {
  Sequential model = classifier();
  EXPECT_TRUE(
      says(error_of<ShapeError>([&] { model.fit(data_.x, data_.y.slice(0, 39)); }), {"39", "40"}));
  EXPECT_TRUE(says(error_of<ShapeError>([&] {
                     model.fit(data_.x, data_.y, {.sample_weight = Tensor::full({10}, 1)});
                   }),
                   {"sample_weight", "10", "40"}));
}

TEST_P(Errors, WrongNumbersOfInputsAndTargets) {
  Sequential model = classifier();
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.fit({data_.x, data_.x}, data_.y);
                   }),
                   {"1 inputs", "got 2"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.fit(data_.x, {data_.y, data_.y});
                   }),
                   {"1 targets", "got 2"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.fit(std::vector<Batch>{{data_.x}}); }),
                   {"1 targets", "got 0"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.train_on_batch(data_.x, TensorList()); }),
                   {"1 targets"}));
  Value in = Input({4});
  Model two({in}, {Dense(1)(in), Dense(1)(in)});
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     two.compile({.loss = {"mse", "mse", "mse"}});
                   }),
                   {"2 outputs", "3 losses"}));
  EXPECT_THROW(two.compile({.loss = "mse", .loss_weights = {1, 2, 3}}), ValueError);
}

TEST_P(Errors, EmptyAndUndefinedData) {
  Sequential model = classifier();
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.fit(Tensor::zeros({0, 4}), Tensor::zeros({0}, DType::int32));
                   }),
                   {"empty"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.fit(std::vector<Batch>{}); }), {"empty"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.predict(TensorList()); }), {"no input"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.fit(Tensor(), data_.y); }), {"input 0", "undefined"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.fit(data_.x, Tensor()); }), {"target 0", "undefined"}));
}

TEST_P(Errors, OptionsOutOfRange) {
  Sequential model = classifier();
  for (double split : {-0.1, 1.0, 1.5})
    EXPECT_TRUE(says(
        error_of<ValueError>([&] { model.fit(data_.x, data_.y, {.validation_split = split}); }),
        {"validation_split", "[0, 1)"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.fit(data_.x, data_.y, {.validation_split = 0.99}); }),
           {"0 to train"}));
  EXPECT_THROW(
      model.fit(data_.x, data_.y, {.validation_data = {data_.x, data_.y}, .validation_split = 0.1}),
      ValueError);
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.fit(data_.x, data_.y, {.batch_size = 0}); }),
                   {"batch_size is 0"}));
  EXPECT_THROW(model.fit(data_.x, data_.y, {.epochs = -1}), ValueError);
  EXPECT_THROW(model.fit(data_.x, data_.y, {.steps_per_epoch = 0}), ValueError);
  std::vector<Batch> batches = {{data_.x, data_.y}};
  EXPECT_THROW(model.fit(batches, {.batch_size = 3}), ValueError);
  EXPECT_THROW(model.fit(batches, {.validation_split = 0.1}), ValueError);
}

TEST_P(Errors, ClassWeightsOfClassesThatDoNotExist) {
  Sequential model = classifier();
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.fit(data_.x, data_.y, {.class_weight = {{3, 1.0}}});
                   }),
                   {"class 3", "0 to 2"}));
  EXPECT_THROW(model.fit(data_.x, data_.y, {.class_weight = {{-1, 1.0}}}), ValueError);
  EXPECT_THROW(model.fit(data_.x, data_.y, {.class_weight = {{0, -2.0}}}), ValueError);
}

TEST_P(Errors, ALabelOutOfRangeIsFoundBeforeTheFirstStep) {
  Sequential model = classifier();
  std::vector<Tensor> before = model.get_weights();
  Tensor y = data_.y.clone();
  y.data_mut<int32_t>()[17] = 3;
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.fit(data_.x, y); }),
                   {"class id 3", "element 17", "[0, 3)"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.evaluate(data_.x, y); }), {"evaluate", "element 17"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.fit(data_.x, y.cast(DType::float32)); }),
                   {"element 17"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.fit(data_.x, y.cast(DType::uint8)); }),
                   {"element 17"}));
  EXPECT_EQ(model.get_weights(), before);
  std::vector<Batch> batches = {{data_.x.slice(0, 16), y.slice(0, 16)},
                                {data_.x.slice(16, 32), y.slice(16, 32)}};
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.fit(batches); }),
                   {"epoch 1, step 2", "class id 3", "element 1"}));
}

TEST_P(Errors, ALossThatIsNotFiniteNamesPlaceLayerAndOp) {
  Sequential model = classifier();
  Tensor x = data_.x.clone();
  x.data_mut<float>()[4 * 35 + 2] = std::numeric_limits<float>::quiet_NaN();
  std::string text = error_of<NonFiniteError>(
      [&] { model.fit(x, data_.y, {.epochs = 2, .batch_size = 10, .shuffle = false}); });
  EXPECT_TRUE(
      says(text, {"epoch 1, step 4", "op \"", "layer \"dense\"", "weights are those before"}));
  // Three steps were made and are kept; training can go on.
  EXPECT_EQ(model.optimizer().iterations(), 3);
  for (const Tensor& weight : model.get_weights())
    for (int64_t i = 0; i < weight.elements(); ++i) ASSERT_TRUE(std::isfinite(weight.at(i)));
  EXPECT_NO_THROW(model.fit(data_.x, data_.y));
}

TEST_P(Errors, AGradientThatIsNotFiniteNeverReachesTheWeights) {
  Sequential roots({Input({4}), Dense(3, {.kernel_initializer = "zeros"}), Lambda(ops::sqrt)});
  roots.compile({.optimizer = "sgd", .loss = "mse"});
  std::vector<Tensor> before = roots.get_weights();
  EXPECT_TRUE(says(error_of<NonFiniteError>([&] {
                     roots.train_on_batch(data_.x, Tensor::full({40, 3}, 1));
                   }),
                   {"train_on_batch", "gradient", "layer \"lambda\""}));
  EXPECT_EQ(roots.get_weights(), before);

  Sequential clipped(
      {Input({4}), Dense(8, {.activation = "relu"}), Dense(3, {.activation = "softmax"})});
  clipped.compile({.loss = "sparse_categorical_crossentropy"});
  before = clipped.get_weights();
  Tensor x = data_.x.clone();
  x.data_mut<float>()[0] = std::numeric_limits<float>::quiet_NaN();  // which a relu may turn into 0
  EXPECT_THROW(clipped.fit(x, data_.y, {.batch_size = 40}), NonFiniteError);
  EXPECT_EQ(clipped.get_weights(), before);
}

TEST_P(Errors, AnErrorInALaterEpochKeepsTheHistory) {
  Sequential model = classifier();
  Tensor bad = data_.y.clone();
  bad.data_mut<int32_t>()[0] = -1;
  int walks = 0;
  auto next = [&, step = 0]() mutable -> std::optional<Batch> {
    ++step;
    walks = step;
    return Batch{data_.x, step == 3 ? bad : data_.y};
  };
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.fit(next, {.epochs = 4, .steps_per_epoch = 1}); }),
           {"epoch 3, step 1"}));
  EXPECT_EQ(model.history()["loss"].size(), 2U);
  EXPECT_EQ(walks, 3);
}

TEST_P(Errors, AFitInsideAFit) {
  Sequential model = classifier();
  LambdaCallback nested(
      {.on_epoch_end = [&](int64_t, const Logs&) { model.fit(data_.x, data_.y); }});
  EXPECT_TRUE(says(error_of<Error>([&] { model.fit(data_.x, data_.y, {.callbacks = {nested}}); }),
                   {"has not ended"}));
  EXPECT_NO_THROW(model.fit(data_.x, data_.y));
}

TEST_P(Errors, AGeneratorThatEndsTooEarly) {
  Sequential model = classifier();
  auto twice = [&, left = 2]() mutable -> std::optional<Batch> {
    if (left-- == 0) return std::nullopt;
    return Batch{data_.x, data_.y};
  };
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.fit(twice, {.epochs = 2}); }),
                   {"only once", "epoch 2, step 1"}));
  EXPECT_EQ(model.optimizer().iterations(), 2);
}

}  // namespace
}  // namespace stoker
