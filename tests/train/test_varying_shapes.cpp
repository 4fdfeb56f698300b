// Batches of different lengths: one program for each shape, in one arena.
#include <sstream>

#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {
namespace {

using test::OnDevice;

// Ids in [1, 10) for `rows` sequences of `length`, 0 after a sequence's own end; y: whether 5 occurs.
Batch sequences(int64_t rows, int64_t length, uint64_t seed) {
  Tensor x = Tensor::zeros({rows, length}, DType::int32), y = Tensor::zeros({rows, 1});
  for (int64_t row = 0; row < rows; ++row) {
    Rng rng(seed, uint64_t(row));
    int64_t own = row == 0 ? length : rng.integer(1, length + 1);
    for (int64_t at = 0; at < own; ++at) {
      auto id = int32_t(rng.integer(1, 10));
      x.data_mut<int32_t>()[row * length + at] = id;
      if (id == 5) y.data_mut<float>()[row] = 1;
    }
  }
  return {x, y};
}

std::vector<Batch> batches_of(const std::vector<int64_t>& lengths) {
  std::vector<Batch> batches;
  for (size_t i = 0; i < lengths.size(); ++i) batches.push_back(sequences(8, lengths[i], i + 1));
  return batches;
}

Sequential length_classifier() {
  Sequential model({Input({-1}, {.dtype = DType::int32}), Embedding(10, 8, {.mask_zero = true}),
                    GlobalAveragePooling1D(), Dense(1, {.activation = "sigmoid"})});
  model.compile({.optimizer = Adam({.learning_rate = 0.05}),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

class VaryingShapes : public test::DeviceTest {};

TEST_P(VaryingShapes, FitEvaluateAndPredictTakeEachBatchAsItIs) {
  std::vector<Batch> batches = batches_of({7, 4, 12, 7, 5, 4});
  Sequential model = length_classifier();
  History history = model.fit(batches, {.epochs = 30, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 0.5 * history["loss"].front());
  Logs logs = model.evaluate(batches);
  EXPECT_GT(logs["accuracy"], 0.8);
  Tensor predicted = model.predict(batches);
  EXPECT_EQ(predicted.shape(), Shape({48, 1}));
  int64_t row = 0;
  for (const Batch& batch : batches) {
    test::expect_near(model(batch[0]), predicted.slice(row, row + 8), 1e-6);
    row += 8;
  }
}

TEST_P(VaryingShapes, PaddingChangesNothingWhereItIsMasked) {
  Sequential model = length_classifier();
  Batch brief = sequences(8, 6, 3);
  Tensor padded = Tensor::zeros({8, 11}, DType::int32);
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t at = 0; at < 6; ++at)
      padded.data_mut<int32_t>()[row * 11 + at] = brief[0].data<int32_t>()[row * 6 + at];
  test::expect_near(model.predict(padded), model.predict(brief[0]), 1e-6);
  std::vector<Tensor> before = model.get_weights();
  Logs one = model.train_on_batch(brief[0], brief[1]);
  std::vector<Tensor> after = model.get_weights();
  model.set_weights(before);
  model.compile({.optimizer = Adam({.learning_rate = 0.05}),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy"}});
  Logs other = model.train_on_batch(padded, brief[1]);
  EXPECT_NEAR(one["loss"], other["loss"], 1e-6);
  test::expect_near(model.get_weights(), after, 1e-5);
}

// The loss of every step: only what is not masked counts, whatever the length.
TEST_P(VaryingShapes, LossesAndMetricsPerStepCountWhatIsNotMasked) {
  Value ids = Input({-1}, {.dtype = DType::int32});
  Value x = Embedding(10, 4, {.mask_zero = true})(ids);
  Model model(ids, Dense(10, {.activation = "softmax"})(x));
  model.compile({.optimizer = SGD({.learning_rate = 0.0}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  Batch batch = sequences(4, 5, 9);
  Logs alone = model.test_on_batch(batch[0], batch[0]);
  Tensor padded = Tensor::zeros({4, 9}, DType::int32);
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t at = 0; at < 5; ++at)
      padded.data_mut<int32_t>()[row * 9 + at] = batch[0].data<int32_t>()[row * 5 + at];
  model.reset_metrics();
  Logs longer = model.test_on_batch(padded, padded);
  EXPECT_NEAR(alone["loss"], longer["loss"], 1e-5);
  EXPECT_NEAR(alone["accuracy"], longer["accuracy"], 1e-6);
}

INSTANTIATE_ON_DEVICES(VaryingShapes);

TEST(VaryingPrograms, AtMost32OfAKindAreKeptAndTheLeastRecentlyUsedGoes) {
  OnDevice device;
  Sequential model({Input({-1, 2}), GlobalAveragePooling1D(), Dense(1)});
  model.compile({.loss = "mse"});
  const ProgramCache& programs = ModelAccess::base(model).trainer->programs;
  auto train = [&](int64_t length) {
    model.train_on_batch(test::normal({2, length, 2}, 1), test::normal({2, 1}, 2));
  };
  for (int64_t length = 1; length <= 40; ++length) {
    train(length);
    train(1);  // stays in use
  }
  EXPECT_EQ(programs.size(), 32U);
  auto kept = [&](int64_t length) {
    return std::ranges::any_of(programs.entries(),
                               [&](const auto& each) { return each->specs[0].shape[1] == length; });
  };
  EXPECT_TRUE(kept(1));
  EXPECT_FALSE(kept(2));
  EXPECT_TRUE(kept(40));
  model.predict(test::normal({2, 3, 2}, 1));
  EXPECT_EQ(programs.size(), 33U);  // another kind
}

TEST(VaryingPrograms, AModelSaysWhatItsLayersCannotTake) {
  OnDevice device;
  Sequential model({Input({-1, 4}), Conv1D(2, 3), GlobalAveragePooling1D(), Dense(1)});
  model.compile({.loss = "mse"});
  std::string text = test::error_of<ShapeError>([&] {
    model.train_on_batch(test::normal({2, 2, 4}, 1), test::normal({2, 1}, 2));
  });
  EXPECT_TRUE(test::says(text, {"conv1d", "[2, 1, 2, 4]"})) << text;
  text = test::error_of<ShapeError>([&] { model.predict(test::normal({2, 5, 3}, 1)); });
  EXPECT_TRUE(test::says(text, {"expects float32[None, None, 4]", "got float32[2, 5, 3]"}));
}

TEST(VaryingPrograms, AFixedLengthTellsHowToLetItVary) {
  OnDevice device;
  Sequential model({Embedding(10, 4), GlobalAveragePooling1D(), Dense(1)});
  model.compile({.loss = "mse"});
  Batch first = sequences(4, 5, 1), second = sequences(4, 6, 1);
  model.train_on_batch(first[0], first[1]);
  std::string text =
      test::error_of<ShapeError>([&] { model.train_on_batch(second[0], second[1]); });
  EXPECT_TRUE(test::says(text, {"Input({-1})"})) << text;
}

TEST(VaryingPrograms, PredictJoinsNoOutputsOfDifferentLengths) {
  OnDevice device;
  Sequential model({Input({-1, 2}), Dense(3)});
  std::vector<Batch> batches = {{test::normal({2, 4, 2}, 1)}, {test::normal({2, 5, 2}, 1)}};
  std::string text = test::error_of<ShapeError>([&] { model.predict(batches); });
  EXPECT_TRUE(test::says(text, {"[2, 4, 3]", "[2, 5, 3]", "predict_on_batch"})) << text;
}

TEST(VaryingPrograms, SummaryAndMemoryPlanShowWhatIsUnknown) {
  OnDevice device;
  Sequential model = length_classifier();
  std::string text = model.summary();
  EXPECT_TRUE(test::says(text, {"[None, None, 8]", "None dimensions"})) << text;
  EXPECT_FALSE(model.memory_plan().has_value());
  EXPECT_THROW(count_flops(model), Error);
  Batch batch = sequences(8, 7, 1);
  model.train_on_batch(batch[0], batch[1]);
  text = model.summary();
  EXPECT_TRUE(test::says(text, {"[None, None, 8]", "per sample of [7]", "at batch 32 of [7]"}))
      << text;
  EXPECT_TRUE(model.memory_plan().has_value());
}

TEST(VaryingPrograms, AFileKeepsUnknownDimensionsAndMasks) {
  OnDevice device;
  test::TempDir folder;
  Value ids = Input({-1}, {.dtype = DType::int32}), other = Input({-1}, {.dtype = DType::int32});
  Value x = Embedding(10, 4)(ids);
  Value pooled = GlobalAveragePooling1D()(x, {.mask = {other}});
  Model model({ids, other}, {Dense(2)(pooled)});
  std::string path = folder / "model.stoker";
  model.save(path);
  Model loaded = load_model(path);
  EXPECT_EQ(loaded.inputs()[0].shape(), Shape({-1, -1}));
  for (int64_t length : {3, 5}) {
    Batch batch = sequences(4, length, 1);
    test::expect_near(loaded.predict({batch[0], batch[0]}), model.predict({batch[0], batch[0]}),
                      1e-6);
  }
}

TEST(VaryingPrograms, ALayerThatDropsAMaskIsSaidOnce) {
  OnDevice device;
  std::ostringstream out;
  default_context().out = &out;
  Sequential model({Input({-1}, {.dtype = DType::int32}), Embedding(10, 4, {.mask_zero = true}),
                    Conv1D(2, 1, {.name = "local"}), GlobalAveragePooling1D(), Dense(1)});
  model.compile({.loss = "mse"});
  model.fit(batches_of({3, 4}), {.epochs = 2, .verbose = 0});
  std::string text = out.str(), line = "Conv1D \"local\": its input carries a mask";
  size_t first = text.find(line);
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find(line, first + 1), std::string::npos);
}

TEST(VaryingPrograms, ACallOfAModelMayBringAMask) {
  OnDevice device;
  Sequential model({Input({-1, 1}), GlobalAveragePooling1D()});
  Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3, 1});
  Tensor mask = Tensor::from<bool>({true, true, false, false, true, true}, {2, 3});
  test::expect_near(model(x, {.mask = {mask}}), Tensor::from<float>({1.5F, 5.5F}, {2, 1}), 1e-6);
  test::expect_near(model(x), Tensor::from<float>({2, 5}, {2, 1}), 1e-6);
  EXPECT_THROW(model(x, {.mask = {mask, mask}}), ValueError);
}

TEST(VaryingPrograms, NestedModelsCarryMasks) {
  OnDevice device;
  Sequential encoder({Embedding(10, 4, {.mask_zero = true}), Dense(4)}, {.name = "encoder"});
  Value ids = Input({-1}, {.dtype = DType::int32});
  Model model(ids, GlobalAveragePooling1D()(encoder(ids)));
  Tensor brief = Tensor::from<int32_t>({3, 4}, {1, 2}),
         padded = Tensor::from<int32_t>({3, 4, 0, 0, 0}, {1, 5});
  test::expect_near(model.predict(padded), model.predict(brief), 1e-6);
}

// Keras's guide: a softmax over the steps that count.
class TemporalSoftmax : public LayerBase {
 public:
  std::string kind() const override { return "TemporalSoftmax"; }
  Values call(const Values& inputs, CallContext& context) override {
    Value counts = ops::expand_dims(ops::cast(context.mask(), DType::float32), -1);
    Value parts = ops::exp(inputs[0]) * counts;
    return {parts / ops::sum(parts, {.axes = {1}, .keepdims = true})};
  }
};

TEST(VaryingPrograms, AnOwnLayerThatNeedsAMaskHasItWhereAModelIsDrawn) {
  OnDevice device;
  for (int64_t length : {4, -1}) {
    Value ids = Input({length}, {.dtype = DType::int32});
    Value scores = Dense(1)(Dropout(0.1)(Embedding(10, 8, {.mask_zero = true})(ids)));
    Model model(ids, make_layer<TemporalSoftmax>()(scores));
    Tensor y = model.predict(Tensor::from<int32_t>({3, 4, 0, 0}, {1, 4}));
    EXPECT_NEAR(y.at(0) + y.at(1), 1, 1e-6);
    EXPECT_EQ(y.at(2), 0);
    EXPECT_THROW(make_layer<TemporalSoftmax>()(Dense(1)(Input({4, 2}))), Error);  // there is none
  }
}

TEST(VaryingPrograms, PixelsBecomeChannelsAndBackAtAnySize) {
  OnDevice device;
  test::TempDir dir;
  Value in = Input({-1, -1, 1});
  Value small = ops::space_to_depth(in, 2);
  EXPECT_EQ(small.shape(), (Shape{-1, -1, -1, 4}));
  Value image = ops::depth_to_space(Conv2D(36, 3, {.padding = "same"})(small), 3);
  EXPECT_EQ(image.shape(), (Shape{-1, -1, -1, 4}));
  Value swapped = ops::rearrange(image, "b (h s) w c -> b w (h s c)", {{"s", 3}});
  Model model(Values{in}, Values{image, swapped});
  Value fixed = Input({6, 4, 1});
  Layer conv = model.get_layer("conv2d");
  Model same(fixed, ops::depth_to_space(conv(ops::space_to_depth(fixed, 2)), 3));
  Tensor x = RandomNormal({.seed = 1})({2, 6, 4, 1});
  std::vector<Tensor> made = model.predict_all(x);
  EXPECT_EQ(made[0], same.predict(x));
  EXPECT_EQ(made[1].shape(), (Shape{2, 6, 36}));
  EXPECT_EQ(model.predict_all(Tensor::zeros({1, 4, 10, 1}))[0].shape(), (Shape{1, 6, 15, 4}));
  EXPECT_THROW(model.predict_all(Tensor::zeros({1, 5, 4, 1})), ShapeError);
  model.save(dir / "model.stoker");
  EXPECT_EQ(load_model(dir / "model.stoker").predict_all(x), made);
}

}  // namespace
}  // namespace stoker
