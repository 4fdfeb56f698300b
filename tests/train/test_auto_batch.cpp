#include <gtest/gtest.h>
#include <stoker/stoker.h>

namespace stoker {
namespace {

Model compiled_model() {
  Sequential model({Input({16, 16, 3}), Conv2D(8, 3, {.activation = "relu"}), Flatten(),
                    Dense(4, {.activation = "softmax"})});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  return model;
}

TEST(AutoBatch, IsTheLargestPowerOfTwoWhosePlanFits) {
  Model model = compiled_model();
  for (int64_t batch : {8, 16, 64, 256}) {
    auto just_enough = int64_t(model.memory_plan(batch)->total);
    EXPECT_EQ(auto_batch_size(model, {.largest = 1024, .memory = just_enough}), batch);
    if (batch > 8) {
      EXPECT_EQ(auto_batch_size(model, {.largest = 1024, .memory = just_enough - 1}), batch / 2);
    }
  }
}

TEST(AutoBatch, IsModestOnACpu) { EXPECT_EQ(auto_batch_size(compiled_model()), 128); }

TEST(AutoBatch, LeavesAnEpochItsSteps) {
  Model model = compiled_model();
  EXPECT_EQ(auto_batch_size(model, {.samples = 60'000}), 128);
  EXPECT_EQ(auto_batch_size(model, {.samples = 1'100}), 32);
  EXPECT_EQ(auto_batch_size(model, {.samples = 10}), 8);
}

TEST(AutoBatch, SaysWhenNothingFits) {
  Model model = compiled_model();
  try {
    auto_batch_size(model, {.memory = 1000});
    FAIL() << "nothing fits into 1000 bytes";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a step of 8 samples takes"), std::string::npos);
  }
  EXPECT_THROW(auto_batch_size(model, {.samples = -1}), ValueError);
  EXPECT_THROW(auto_batch_size(Sequential({Input({4}), Dense(2)})), Error);
}

}  // namespace
}  // namespace stoker
