// Weights of every pixel and token through fit, evaluate and single steps, from arrays and batches.
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;

class ElementWeights : public test::DeviceTest {
 protected:
  // Classifies every token: [N, 3, 2] → [N, 3, 4].
  static Sequential tagger() {
    set_seed(5);
    Sequential model({Input({3, 2}), Dense(4, {.activation = "softmax"})});
    model.compile({.optimizer = SGD({.learning_rate = 0.5}),
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"},
                   .weighted_metrics = {"accuracy"}});
    return model;
  }

  // -log of the probability of each token's class.
  std::vector<double> losses(const Sequential& model) const {
    Tensor p = model.predict(x_);
    std::vector<double> all;
    for (int64_t i = 0; i < y_.elements(); ++i)
      all.push_back(-std::log(p.at(4 * i + int64_t(y_.at(i)))));
    return all;
  }
  double weighted_mean(const std::vector<double>& values, const Tensor& weights) const {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += values[i] * weights.at(int64_t(i));
    return sum / double(values.size());
  }

  Tensor x_ = test::normal({4, 3, 2}, 1);
  Tensor y_ = Tensor::from<int32_t>({0, 1, 2, 3, 3, 2, 1, 0, 0, 0, 1, 1}, {4, 3});
  // A masked language model: two tokens of three do not count.
  Tensor mask_ = Tensor::from<float>({1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0}, {4, 3});
};
INSTANTIATE_ON_DEVICES(ElementWeights);

TEST_P(ElementWeights, MeanTheSameFromArraysAndBatchesEverywhere) {
  Sequential model = tagger();
  double expected = weighted_mean(losses(model), mask_);
  std::vector<Batch> batches = {{x_, y_, mask_}};
  EXPECT_NEAR(model.evaluate(x_, y_, {.sample_weight = mask_})["loss"], expected, 1e-5);
  EXPECT_NEAR(model.evaluate(batches)["loss"], expected, 1e-5);
  model.reset_metrics();
  EXPECT_NEAR(model.test_on_batch(x_, y_, {.sample_weight = mask_})["loss"], expected, 1e-5);

  auto trained = [&](const std::function<double(const Sequential&)>& train) {
    Sequential fresh = tagger();
    EXPECT_NEAR(train(fresh), expected, 1e-5);
    return fresh.get_weights();
  };
  auto by_fit = trained([&](const Sequential& m) {
    return m.fit(x_, y_, {.shuffle = false, .sample_weight = mask_})["loss"][0];
  });
  EXPECT_EQ(trained([&](const Sequential& m) { return m.fit(batches)["loss"][0]; }), by_fit);
  EXPECT_EQ(trained([&](const Sequential& m) {
              return m.train_on_batch(x_, y_, {.sample_weight = mask_})["loss"];
            }),
            by_fit);
  EXPECT_EQ(trained([&](const Sequential& m) { return m.train_on_batch(batches[0])["loss"]; }),
            by_fit);
  data::Dataset dataset = data::from_slices({x_, y_, mask_}).batch(4);
  EXPECT_EQ(trained([&](const Sequential& m) { return m.fit(dataset)["loss"][0]; }), by_fit);
}

TEST_P(ElementWeights, OfMaskedTokensKeepThemOutOfTheTraining) {
  auto train = [&](const Tensor& y) {
    Sequential model = tagger();
    model.fit(x_, y, {.epochs = 3, .batch_size = 2, .sample_weight = mask_});
    return model.get_weights();
  };
  Tensor other = y_.clone();
  for (int64_t i = 0; i < 12; ++i)
    if (mask_.at(i) == 0) other.data_mut<int32_t>()[i] = 0;
  EXPECT_EQ(train(y_), train(other));
}

TEST_P(ElementWeights, ReachValidation) {
  Sequential model = tagger();
  History history = model.fit(x_, y_, {.validation_data = {x_, y_, mask_}});
  EXPECT_NEAR(history["val_loss"][0], weighted_mean(losses(model), mask_), 1e-5);
  Sequential other = tagger();
  other.fit(x_, y_, {.validation_data = std::vector<Batch>{{x_, y_, mask_}}});
  EXPECT_NEAR(other.history()["val_loss"][0], history["val_loss"][0], 1e-6);
}

TEST_P(ElementWeights, WeighWeightedMetricsAndLeaveTheOthersAlone) {
  Sequential model = tagger();
  Tensor p = model.predict(x_);
  double hits = 0, weighted = 0;
  for (int64_t i = 0; i < 12; ++i) {
    int64_t best = 0;
    for (int64_t id = 1; id < 4; ++id)
      if (p.at(4 * i + id) > p.at(4 * i + best)) best = id;
    hits += best == int64_t(y_.at(i));
    weighted += best == int64_t(y_.at(i)) ? mask_.at(i) : 0;
  }
  Logs logs = model.evaluate(x_, y_, {.sample_weight = mask_});
  EXPECT_EQ(logs.names(), (std::vector<std::string>{"loss", "accuracy", "weighted_accuracy"}));
  EXPECT_NEAR(logs["accuracy"], hits / 12, 1e-6);
  EXPECT_NEAR(logs["weighted_accuracy"], weighted / 4, 1e-6);
  EXPECT_EQ(model.evaluate(x_, y_)["accuracy"], model.evaluate(x_, y_)["weighted_accuracy"]);
}

TEST_P(ElementWeights, OfMetricsAreSavedWithTheModel) {
  Sequential model = tagger();
  test::TempDir folder;
  model.save(folder / "model.stoker");
  Logs before = model.evaluate(x_, y_, {.sample_weight = mask_});
  Logs after = load_model(folder / "model.stoker").evaluate(x_, y_, {.sample_weight = mask_});
  EXPECT_EQ(after.names(), before.names());
  EXPECT_EQ(after["weighted_accuracy"], before["weighted_accuracy"]);
}

TEST_P(ElementWeights, ByClassAreWeightsOfTheirTokens) {
  Tensor weights(DType::float32, {4, 3});
  const float by_class[] = {1, 0.25F, 4, 0};
  for (int64_t i = 0; i < 12; ++i) weights.data_mut<float>()[i] = by_class[int64_t(y_.at(i))];
  auto train = [&](const Tensor& y, FitArgs args) {
    Sequential model = tagger();
    args.epochs = 2;
    args.batch_size = 3;
    model.fit(x_, y, args);
    return model.get_weights();
  };
  std::map<int64_t, double> classes = {{1, 0.25}, {2, 4.0}, {3, 0.0}};
  std::vector<Tensor> expected = train(y_, {.sample_weight = weights});
  for (const Shape& shape : {Shape{4, 3}, Shape{4, 3, 1}})
    for (DType dtype : {DType::int32, DType::uint8, DType::float32})
      EXPECT_EQ(train(y_.reshape(shape).cast(dtype), {.class_weight = classes}), expected);
  EXPECT_NE(train(y_, {}), expected);

  auto from_batches = [&](const std::vector<Batch>& batches, const FitArgs& args) {
    Sequential model = tagger();
    model.fit(batches, args);
    return model.get_weights();
  };
  EXPECT_EQ(from_batches({{x_, y_}}, {.class_weight = classes}),
            from_batches({{x_, y_, weights}}, {}));
  Sequential stepped = tagger(), weighted = tagger();
  stepped.train_on_batch(x_, y_, {.class_weight = classes});
  weighted.train_on_batch(x_, y_, {.sample_weight = weights});
  EXPECT_EQ(stepped.get_weights(), weighted.get_weights());
}

TEST_P(ElementWeights, ByClassMultiplyThoseOfTheSamples) {
  Tensor per_sample = Tensor::from<float>({1, 2, 0.5F, 0}, {4});
  Tensor product(DType::float32, {4, 3}), of_tokens(DType::float32, {4, 3});
  for (int64_t i = 0; i < 12; ++i) {
    float by_class = y_.at(i) == 2 ? 3.0F : 1.0F;
    product.data_mut<float>()[i] = by_class * float(per_sample.at(i / 3));
    of_tokens.data_mut<float>()[i] = by_class * float(mask_.at(i));
  }
  Sequential model = tagger();
  auto loss = [&](const BatchArgs& args) {
    model.reset_metrics();
    return double(model.test_on_batch(x_, y_, args)["loss"]);
  };
  EXPECT_EQ(loss({.sample_weight = per_sample, .class_weight = {{2, 3.0}}}),
            loss({.sample_weight = product}));
  EXPECT_EQ(loss({.sample_weight = mask_, .class_weight = {{2, 3.0}}}),
            loss({.sample_weight = of_tokens}));
}

TEST_P(ElementWeights, OfPicturesWeighEveryPixel) {
  set_seed(2);
  Sequential model({Input({4, 4, 1}), Conv2D(1, 3, {.padding = "same", .activation = "sigmoid"})});
  model.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "binary_crossentropy"});
  Tensor x = test::normal({2, 4, 4, 1}, 3), mask(DType::uint8, {2, 4, 4});
  for (int64_t i = 0; i < 32; ++i) mask.data_mut<uint8_t>()[i] = i % 3 == 0;
  Tensor p = model.predict(x);
  double expected = 0;
  for (int64_t i = 0; i < 32; ++i)
    expected -= mask.at(i) == 1 ? 5 * std::log(p.at(i)) : std::log(1 - p.at(i));
  for (const Shape& shape : {Shape{2, 4, 4}, Shape{2, 4, 4, 1}}) {
    History history = model.fit(x, mask.reshape(shape), {.class_weight = {{1, 5.0}}});
    EXPECT_NEAR(history["loss"][0], expected / 32, 1e-5);
  }
}

TEST_P(ElementWeights, ByClassPassOverPixelsThatTheLossIgnores) {
  set_seed(2);
  for (int64_t ignored : {255, -1}) {
    Sequential model({Input({4, 4, 1}), Conv2D(3, 3, {.padding = "same"})});
    model.compile({.optimizer = SGD({.learning_rate = 0}),
                   .loss = SparseCategoricalCrossentropy(
                       {.from_logits = true, .ignore_class = ignored, .reduction = "sum"})});
    Tensor x = test::normal({2, 4, 4, 1}, 3), y(DType::int32, {2, 4, 4});
    for (int64_t i = 0; i < 32; ++i)
      y.data_mut<int32_t>()[i] = int32_t(i % 5 == 0 ? ignored : i % 3);
    Tensor p = compute([&] { return ops::log_softmax(model(Value(x))); });
    double expected = 0;
    for (int64_t i = 0; i < 32; ++i)
      if (i % 5 != 0) expected -= (i % 3 == 1 ? 4 : 1) * p.at(3 * i + i % 3);
    FitArgs args{.class_weight = {{1, 4.0}}};
    EXPECT_NEAR(model.fit(x, y, args)["loss"][0], expected, 1e-3);
    EXPECT_NEAR(model.fit(std::vector<Batch>{{x, y}}, args)["loss"][0], expected, 1e-3);
    Tensor wrong = y.clone();
    wrong.data_mut<int32_t>()[1] = 7;
    EXPECT_TRUE(
        says(error_of<Error>([&] { model.fit(x, wrong, args); }), {"class id 7", "[0, 3)"}));
  }
}

TEST_P(ElementWeights, OfAnotherShapeNameOutputAndShapes) {
  Sequential model = tagger();
  for (const Shape& shape : {Shape{4, 2}, Shape{4, 3, 4}, Shape{4, 1, 2}})
    EXPECT_TRUE(says(
        error_of<ShapeError>([&] { model.fit(x_, y_, {.sample_weight = Tensor::full(shape, 1)}); }),
        {"fit", "\"dense\"", "sample_weight", "[4]", "[4, 3]"}));
  EXPECT_THROW(model.fit(std::vector<Batch>{{x_, y_, Tensor::full({4, 2}, 1)}}), ShapeError);
  EXPECT_THROW(model.train_on_batch(x_, y_, {.sample_weight = Tensor::full({3, 3}, 1)}),
               ShapeError);
}

TEST_P(ElementWeights, ByClassDoNotWeighValidation) {
  auto validation_loss = [&](const FitArgs& args) {
    Sequential model = tagger();
    model.compile(
        {.optimizer = SGD({.learning_rate = 0}), .loss = "sparse_categorical_crossentropy"});
    return model.fit(x_, y_, args)["val_loss"][0];
  };
  EXPECT_EQ(validation_loss({.validation_split = 0.5, .class_weight = {{0, 100.0}}}),
            validation_loss({.validation_split = 0.5}));
}

TEST_P(ElementWeights, ByClassNeedTargetsThatNameOneClass) {
  Sequential regression({Input({2}), Dense(1)});
  regression.compile({.loss = "mse"});
  Tensor x = test::normal({4, 2}, 1);
  auto refusal = [&](const Sequential& model, const Tensor& y) {
    return error_of<ValueError>([&] { model.fit(x, y, {.class_weight = {{1, 2.0}}}); });
  };
  EXPECT_TRUE(says(refusal(regression, Tensor::from<float>({0, 1, 0.37F, 1}, {4})),
                   {"class_weight", "0.37", "element 2", "sample_weight"}));
  EXPECT_TRUE(
      says(refusal(regression, Tensor::from<float>({0, 1, 5, 1}, {4})), {"class id 5", "[0, 2)"}));

  Sequential labels({Input({2}), Dense(3, {.activation = "sigmoid"})});
  labels.compile({.loss = "binary_crossentropy"});
  EXPECT_TRUE(
      says(refusal(labels, Tensor::from<float>({1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0}, {4, 3})),
           {"row 1", "one-hot", "sample_weight"}));
  EXPECT_NO_THROW(labels.fit(x, Tensor::from<float>({1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0}, {4, 3}),
                             {.class_weight = {{1, 2.0}}}));

  Value in = Input({2});
  Model two({in}, {Dense(1)(in), Dense(1)(in)});
  two.compile({.loss = "mse"});
  EXPECT_TRUE(
      says(error_of<ValueError>([&] {
             two.fit(x, {Tensor::zeros({4}), Tensor::zeros({4})}, {.class_weight = {{1, 2.0}}});
           }),
           {"class_weight", "one output", "sample_weight"}));
}

}  // namespace
}  // namespace stoker
