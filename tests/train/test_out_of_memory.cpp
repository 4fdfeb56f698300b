// A step that does not fit: what is said, and training on in parts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "train/resuming.h"

namespace stoker::test {
namespace {

constexpr int64_t kBatch = 16;

class OutOfMemory : public testing::TestWithParam<std::string> {
 protected:
  OutOfMemory() { context_.device = GetParam(); }

  // Small weights, large activations.
  Sequential made(const Optimizer& optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9}),
                  const Layer& middle = Activation("relu")) {
    set_seed(1);
    context_.seed.set(1);
    context_.out = &said_;
    Sequential model({Input({12, 12, 1}), Conv2D(8, 3), middle, GlobalAveragePooling2D(),
                      Dense(3, {.activation = "softmax", .kernel_regularizer = L2(0.01)})});
    model.compile({.optimizer = optimizer,
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"},
                   .context = &context_});
    return model;
  }
  static Data pictures(int64_t count) {
    Data data = blobs(count, 144, 3, 7);
    return {data.x.reshape({count, 12, 12, 1}), data.y};
  }
  // From now on a step of so many samples fits, and one of half as many more does not.
  void allow(int64_t samples) {
    context_.memory_limit = 0;
    Sequential model = made();
    size_t small = model.memory_plan(samples)->total, large = model.memory_plan(2 * samples)->total;
    context_.memory_limit = small + (large - small) / 2;
  }

  std::ostringstream said_;
  Context context_;
  Data data_ = pictures(50);  // remainder batches of 2
};
INSTANTIATE_TEST_SUITE_P(Devices, OutOfMemory, testing::Values("cpu", "reference"),
                         [](const auto& device) { return device.param; });

TEST_P(OutOfMemory, SaysWhatNeedsHowMuchAndNamesTheLargestBatchThatFits) {
  allow(5);
  Sequential model = made();
  std::vector<Tensor> before = model.get_weights();
  std::string text = error_of<OutOfMemoryError>(
      [&] { model.fit(data_.x, data_.y, {.batch_size = kBatch, .verbose = 0}); });
  EXPECT_TRUE(says(text, {"out of memory", GetParam().c_str(), "memory_limit", "weights",
                          "optimizer", "activations", "in all", "on the host: arrays",
                          "at batch size 16; ", "would fit", "OnOutOfMemory::halve"}));
  EXPECT_EQ(model.get_weights(), before);
  int64_t fits = std::atoll(text.c_str() + text.rfind("; ") + 2);
  ASSERT_GT(fits, 1) << text;
  ASSERT_LT(fits, kBatch) << text;
  EXPECT_THROW(model.fit(data_.x, data_.y, {.batch_size = fits + 1, .verbose = 0}),
               OutOfMemoryError);
  model.fit(data_.x, data_.y, {.batch_size = fits, .verbose = 0});
}

TEST_P(OutOfMemory, OfAPipelineSaysWhatItHolds) {
  allow(5);
  Sequential model = made();
  auto batches = data::from_slices({data_.x, data_.y}).batch(kBatch);
  std::string text =
      error_of<OutOfMemoryError>([&] { model.fit(batches, {.epochs = 1, .verbose = 0}); });
  EXPECT_TRUE(
      says(text, {"activations", "on the host: the pipeline's batches and caches", "would fit"}));
}

TEST_P(OutOfMemory, HalvingTrainsAsTheWholeBatchDoes) {
  auto trained = [&] {
    Sequential model = made();
    Tensor weights = Tensor::full({50}, 1.0);
    for (int64_t i = 0; i < 50; ++i) weights.data_mut<float>()[i] = 0.5F + 0.02F * float(i);
    History history = model.fit(data_.x, data_.y,
                                {.epochs = 3,
                                 .batch_size = kBatch,
                                 .validation_data = {data_.x, data_.y},
                                 .sample_weight = weights,
                                 .verbose = 2,
                                 .on_out_of_memory = OnOutOfMemory::halve});
    EXPECT_EQ(model.optimizer().iterations(), 12) << "steps are those of whole batches";
    EXPECT_EQ(history.params().steps, 4);
    return std::pair(model.get_weights(), history);
  };
  auto [whole, whole_history] = trained();
  EXPECT_EQ(said_.str().find("out of memory"), std::string::npos);
  for (int64_t part : {8, 3}) {
    allow(part);
    auto [parts, history] = trained();
    EXPECT_TRUE(says(said_.str(), {"fit: out of memory; each batch of 16 runs in"}));
    expect_near(parts, whole, 2e-5);
    for (const std::string& name : whole_history.names())
      for (size_t epoch = 0; epoch < 3; ++epoch)
        EXPECT_NEAR(history[name][epoch], whole_history[name][epoch], 2e-5) << name;
  }
}

TEST_P(OutOfMemory, HalvingWorksBesideAccumulationOverBatchesAndSchedules) {
  auto trained = [&] {
    Sequential model =
        made(SGD({.learning_rate = CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 6}),
                  .gradient_accumulation_steps = 2}));
    model.fit(data_.x, data_.y,
              {.epochs = 3,
               .batch_size = kBatch,
               .verbose = 0,
               .on_out_of_memory = OnOutOfMemory::halve});
    EXPECT_EQ(model.optimizer().iterations(), 6);
    return model.get_weights();
  };
  std::vector<Tensor> whole = trained();
  allow(6);
  expect_near(trained(), whole, 2e-5);
}

TEST_P(OutOfMemory, HalvingWorksForDatasets) {
  auto trained = [&] {
    Sequential model = made();
    model.fit(data::from_slices({data_.x, data_.y}).batch(kBatch),
              {.epochs = 2,
               .class_weight = {{0, 2.0}},
               .verbose = 0,
               .on_out_of_memory = OnOutOfMemory::halve});
    return model.get_weights();
  };
  std::vector<Tensor> whole = trained();
  allow(6);
  expect_near(trained(), whole, 2e-5);
}

TEST_P(OutOfMemory, HalvingSaysWhatBatchNormalisationSees) {
  allow(5);
  Sequential model = made("sgd", BatchNormalization());
  model.fit(data_.x, data_.y,
            {.batch_size = kBatch, .verbose = 2, .on_out_of_memory = OnOutOfMemory::halve});
  EXPECT_TRUE(says(said_.str(), {"batch normalisation sees", "samples at a time"}));
}

TEST_P(OutOfMemory, HalvingEndsWhereOneSampleDoesNotFit) {
  Sequential model = made();
  context_.memory_limit = 1000;
  std::string text = error_of<OutOfMemoryError>([&] {
    model.fit(data_.x, data_.y,
              {.batch_size = kBatch, .verbose = 0, .on_out_of_memory = OnOutOfMemory::halve});
  });
  EXPECT_TRUE(says(text, {"not even one sample would fit"}));
}

TEST_P(OutOfMemory, APartThatIsNotFiniteLeavesTheWeightsOfTheStepBefore) {
  allow(5);
  Sequential model = made();
  std::vector<Tensor> before = model.get_weights();
  Tensor bad = data_.x.clone();
  bad.data_mut<float>()[144 * 13] = std::numeric_limits<float>::quiet_NaN();  // in the third part
  FitArgs args{.batch_size = kBatch,
               .shuffle = false,
               .verbose = 0,
               .on_out_of_memory = OnOutOfMemory::halve};
  EXPECT_TRUE(says(error_of<NonFiniteError>([&] { model.fit(bad, data_.y, args); }),
                   {"epoch 1, step 1", "not finite"}));
  EXPECT_EQ(model.get_weights(), before);
  // And nothing of that batch is in the next training.
  model.fit(data_.x, data_.y, args);
  Sequential fresh = made();
  fresh.fit(data_.x, data_.y, args);
  EXPECT_EQ(model.get_weights(), fresh.get_weights());
}

TEST_P(OutOfMemory, LeavesNoPartsToWhatFollowsTheFit) {
  allow(5);
  Sequential model = made();
  model.fit(data_.x, data_.y,
            {.batch_size = kBatch, .verbose = 0, .on_out_of_memory = OnOutOfMemory::halve});
  EXPECT_THROW(model.train_on_batch(data_.x, data_.y), OutOfMemoryError);
}

TEST_P(OutOfMemory, ATrainingInPartsGoesOnToTheLastBit) {
  allow(5);
  TempDir whole, stopped;
  auto train = [&](const std::string& folder, std::optional<int64_t> stop) {
    Sequential model = made();
    model.fit(data_.x, data_.y,
              {.epochs = 3,
               .batch_size = kBatch,
               .validation_split = 0.2,
               .verbose = 0,
               .callbacks = {BackupAndRestore(folder, {.save_freq = 1, .stop_after_steps = stop})},
               .on_out_of_memory = OnOutOfMemory::halve});
    return model.get_weights();
  };
  std::vector<Tensor> expected = train(whole / "c", {});
  EXPECT_THROW(train(stopped / "c", 2), Interrupted);
  // With more memory it still computes in the parts that it began with.
  context_.memory_limit = 0;
  EXPECT_THROW(train(stopped / "c", 3), Interrupted);
  EXPECT_EQ(train(stopped / "c", {}), expected);
}

}  // namespace
}  // namespace stoker::test
