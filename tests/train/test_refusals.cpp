// Data and options that make no sense are refused before the first step, with advice.
#include <limits>

#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;

class Refusals : public testing::Test {
 protected:
  static Sequential classifier() {
    Sequential model({Input({3}, {.name = "points"}), Dense(4, {.activation = "softmax"})});
    model.compile({.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
    return model;
  }
  test::OnDevice device_{"cpu"};
  test::Data data_ = test::blobs(8, 3, 4, 7);
};

TEST_F(Refusals, AnUnbatchedDatasetIsAnsweredWithBatch) {
  Sequential model = classifier();
  data::Dataset samples = data::from_slices({data_.x, data_.y});
  for (const auto& action : std::vector<std::function<void()>>{
           [&] { model.fit(samples); }, [&] { model.evaluate(samples); },
           [&] { model.predict(samples); },
           [&] { model.fit(data_.x, data_.y, {.validation_data = samples}); }})
    EXPECT_TRUE(says(error_of<ShapeError>(action), {"float32[None, 3]", "float32[3]", "batch("}));
  Sequential open({Dense(4, {.activation = "softmax"})});
  open.compile({.loss = "sparse_categorical_crossentropy"});
  EXPECT_TRUE(says(error_of<ShapeError>([&] { open.fit(samples); }), {"batch("}));
  EXPECT_NO_THROW(model.fit(samples.batch(4)));
}

TEST_F(Refusals, ADatasetBatchedTwiceIsToldSo) {
  Sequential model = classifier();
  EXPECT_TRUE(says(error_of<ShapeError>([&] {
                     model.fit(data::from_slices({data_.x, data_.y}).batch(2).batch(2));
                   }),
                   {"[2, 2, 3]", "batch() once"}));
}

TEST_F(Refusals, PicturesOfAnotherLayoutGetAdvice) {
  Sequential model({Input({8, 6, 3}), Flatten(), Dense(1)});
  auto refusal = [&](const Shape& shape) {
    return error_of<ShapeError>([&] { model.predict(Tensor::zeros(shape)); });
  };
  EXPECT_TRUE(says(refusal({2, 3, 8, 6}), {"channels", "[B, H, W, C]"}));
  EXPECT_TRUE(says(refusal({2, 8, 6}), {"channels are missing", "3 per pixel"}));
  EXPECT_TRUE(says(refusal({2, 144}), {"reshape", "[2, 8, 6, 3]"}));
  EXPECT_TRUE(says(refusal({8, 6, 3}), {"batch("}));
}

TEST_F(Refusals, BatchesWithoutTargets) {
  Sequential model = classifier();
  data::Dataset inputs = data::from_slices({data_.x}).batch(4);
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.fit(inputs); }), {"1 targets", "got 0", "(x, y)"}));
  EXPECT_EQ(model.predict(inputs).shape(), (Shape{8, 4}));
}

TEST_F(Refusals, LabelsThatAreNoClass) {
  Sequential model = classifier();
  Tensor half = data_.y.cast(DType::float32), nan = half.clone(), beyond = half.clone(),
         negative = half.clone();
  half = half.clone();
  half.data_mut<float>()[5] = 0.5F;
  nan.data_mut<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  beyond.data_mut<float>()[5] = 4;
  negative.data_mut<float>()[5] = -1;
  struct Bad {
    Tensor y;
    const char* text;
  };
  for (const Bad& bad : {Bad{half, "0.5"}, Bad{nan, "nan"}, Bad{beyond, "4"}, Bad{negative, "-1"}})
    for (const auto& action : std::vector<std::function<void()>>{
             [&] { model.fit(data_.x, bad.y); }, [&] { model.evaluate(data_.x, bad.y); },
             [&] {
               model.fit(std::vector<Batch>{{data_.x, bad.y}});
             },
             [&] { model.train_on_batch(data_.x, bad.y); },
             [&] {
               model.fit(data_.x, data_.y, {.validation_data = {data_.x, bad.y}});
             }})
      EXPECT_TRUE(says(error_of<ValueError>(action), {"class id", bad.text, "element 5"}));
  EXPECT_NO_THROW(model.fit(data_.x, data_.y.cast(DType::float32)));
}

TEST_F(Refusals, TargetsOfCrossentropiesThatAreNoProbabilities) {
  Sequential model({Input({3}), Dense(1, {.activation = "sigmoid"})});
  model.compile({.loss = "binary_crossentropy"});
  Tensor mask = Tensor::from<uint8_t>({0, 255, 0, 1, 1, 1, 0, 0}, {8});
  std::vector<Batch> batches = {{data_.x, mask}};
  for (const auto& action : std::vector<std::function<void()>>{
           [&] { model.fit(data_.x, mask); }, [&] { model.fit(batches); },
           [&] { model.evaluate(data_.x, mask); }, [&] { model.evaluate(batches); }})
    EXPECT_TRUE(
        says(error_of<ValueError>(action), {"BinaryCrossentropy", "255", "element 1", "divide"}));
  EXPECT_NO_THROW(model.fit(data_.x, Tensor::full({8}, 0.3)));
  Sequential single({Input({3}), Dense(1, {.activation = "softmax"})});
  for (const char* loss : {"categorical_crossentropy", "sparse_categorical_crossentropy"})
    EXPECT_TRUE(says(error_of<ValueError>([&] { single.compile({.loss = loss}); }),
                     {"one value per class", "binary_crossentropy"}));
}

// Labels that only a later batch shows are refused there.
TEST_F(Refusals, TargetsOfLaterBatchesThatAreNoProbabilities) {
  Sequential model({Input({3}), Dense(1, {.activation = "sigmoid"})});
  model.compile({.loss = "binary_crossentropy"});
  Tensor x = Tensor::zeros({2, 3}), good = Tensor::zeros({2, 1}), bad = Tensor::full({2, 1}, 2.0);
  std::vector<Batch> batches = {Batch{x, good}, Batch{x, bad}};
  for (const auto& action : std::vector<std::function<void()>>{
           [&] { model.fit(batches); }, [&] { model.evaluate(batches); },
           [&] { model.train_on_batch(x, bad); }, [&] { model.train_on_batch(batches[1]); },
           [&] { model.test_on_batch(x, bad); }})
    EXPECT_TRUE(says(error_of<ValueError>(action), {"BinaryCrossentropy", "got 2"}));
}

TEST_F(Refusals, CountsOfWeightsThatFitNoOutput) {
  Sequential model = classifier();
  Tensor weights = Tensor::full({8}, 1);
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.fit(data_.x, data_.y, {.sample_weight = {weights, weights}});
                   }),
                   {"sample_weight", "got 2"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.train_on_batch(data_.x, data_.y, {.sample_weight = Tensor()});
                   }),
                   {"sample_weight 0", "undefined"}));
}

TEST_F(Refusals, EmbeddingIndicesThatAreNoIndex) {
  Sequential model({Input({2}), Embedding(5, 3), Flatten(), Dense(1)});
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.predict(Tensor::from<float>({0, 1, 2, 2.5F}, {2, 2}));
                   }),
                   {"embedding index", "2.5"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.predict(Tensor::from<float>({0, 1, 2, 5}, {2, 2}));
                   }),
                   {"embedding index", "[0, 5)"}));
}

TEST_F(Refusals, SplitsAndEpochsThatMakeNoSense) {
  Sequential model = classifier();
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.fit(data_.x, data_.y, {.validation_split = nan}); }),
           {"validation_split", "nan"}));
  EXPECT_TRUE(says(
      error_of<ValueError>([&] { model.fit(data_.x, data_.y, {.epochs = 2, .initial_epoch = 3}); }),
      {"initial_epoch is 3", "2 epochs"}));
  EXPECT_NO_THROW(model.fit(data_.x, data_.y, {.epochs = 2, .initial_epoch = 2}));
  for (int64_t steps : {0, -1}) {
    EXPECT_THROW(model.evaluate(data_.x, data_.y, {.steps = steps}), ValueError);
    EXPECT_THROW(model.predict(data_.x, {.steps = steps}), ValueError);
    EXPECT_THROW(model.fit(data_.x, data_.y, {.validation_steps = steps}), ValueError);
  }
}

TEST_F(Refusals, OptionsOfArraysForBatches) {
  Sequential model = classifier();
  std::vector<Batch> batches = {{data_.x, data_.y}};
  Tensor weights = Tensor::full({8}, 1);
  EXPECT_THROW(model.fit(batches, {.sample_weight = weights}), ValueError);
  EXPECT_THROW(model.evaluate(batches, {.sample_weight = weights}), ValueError);
  EXPECT_THROW(model.evaluate(batches, {.batch_size = 2}), ValueError);
  EXPECT_THROW(model.predict(batches, {.batch_size = 2}), ValueError);
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.fit(data_.x, data_.y,
                               {.validation_data = batches, .validation_batch_size = 2});
                   }),
                   {"validation_batch_size"}));
}

TEST_F(Refusals, ValidationDataOfAnotherShape) {
  Sequential model = classifier();
  EXPECT_THROW(model.fit(data_.x, data_.y, {.validation_data = {test::normal({8, 4}, 1), data_.y}}),
               ShapeError);
  EXPECT_THROW(model.fit(data_.x, data_.y, {.validation_data = {data_.x, test::normal({8, 3}, 1)}}),
               ShapeError);
  EXPECT_THROW(model.fit(data_.x, data_.y, {.validation_data = {data_.x, data_.y.slice(0, 7)}}),
               ShapeError);
}

TEST_F(Refusals, AsManyLossesAsOutputs) {
  Value in = Input({3});
  Model two({in}, {Dense(1, {.name = "a"})(in), Dense(1, {.name = "b"})(in)});
  EXPECT_TRUE(says(error_of<ValueError>([&] { two.compile({.loss = {"mse"}}); }),
                   {"2 outputs (a, b)", "1 losses", ".loss = \"mse\""}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { two.compile({.loss = "mse", .loss_weights = {2}}); }),
                   {"2 outputs", "1 loss weights"}));
  EXPECT_FALSE(two.compiled());
  EXPECT_NO_THROW(two.compile({.loss = "mse"}));  // one for all
  EXPECT_NO_THROW(two.compile({.loss = Huber(2)}));
  EXPECT_NO_THROW(two.compile({.loss = {"mse", "mae"}, .loss_weights = {1, 2}}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     two.compile({.loss = "mse",
                                  .weighted_metrics = {MeanAbsoluteErrorMetric({.output = "c"})}});
                   }),
                   {"\"c\"", "a, b"}));
}

TEST_F(Refusals, AnOwnLossThatMixesSamples) {
  Sequential model({Input({3}), Dense(4)});
  model.compile({.loss = Loss("own", [](const Value& y, const Value& p) {
                   return ops::mean(ops::square(y - p), {.axes = {-1}});
                 })});
  Tensor y = Tensor::zeros({4});
  EXPECT_TRUE(says(error_of<ShapeError>([&] { model.fit(data_.x.slice(0, 4), y); }),
                   {"\"own\"", "mixes the samples"}));
}

TEST(RefusedSettings, OfAValidationThatDoesNotHappen) {
  test::OnDevice device;
  Sequential model({Input({2}), Dense(1)});
  model.compile({.loss = "mse"});
  test::Data data = test::line(8, 1);
  for (const FitArgs& args : {FitArgs{.validation_steps = 1}, FitArgs{.validation_batch_size = 4}})
    EXPECT_THROW(model.fit(data.x, data.y, args), ValueError);
}

}  // namespace
}  // namespace stoker
