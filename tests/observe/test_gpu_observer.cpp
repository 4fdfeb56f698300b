// What every fit on a GPU sees of itself: the device's steps beside the host's, and an accounting
// that closes.
#include <gtest/gtest.h>

#include "observe/gpu_training.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker::test {

using namespace doctor;

namespace {

class GpuObserver : public GpuTraining {
 protected:
  static constexpr double kMostUnexplained = 0.03;

  // What a fit of 150 batches from arrays sees of itself.
  static Diagnosis diagnosis_of_fit(const Sequential& model, FitArgs args = {}) {
    Data data = pictures(150 * kBatch, 1);
    args.batch_size = kBatch;
    args.verbose = 0;
    model.fit(data.x, data.y, args);
    return last_diagnosis(model).value();
  }

  static void expect_closed(const Diagnosis& diagnosis) {
    double sum = 0;
    for (double share : diagnosis.shares.share) {
      EXPECT_GE(share, 0);
      sum += share;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
    EXPECT_GT(diagnosis.shares[Owner::compute], 0);
    EXPECT_LE(diagnosis.shares[Owner::unexplained], kMostUnexplained);
    EXPECT_GT(diagnosis.step_seconds, 0);
    std::cout << "a step of " << diagnosis.step_seconds * 1e6 << " us:";
    for (size_t i = 0; i < kOwners; ++i)
      std::cout << " " << name(Owner(i)) << " " << 100 * diagnosis.shares.share[i];
    std::cout << "\n";
  }
};
INSTANTIATE_TEST_SUITE_P(Policies, GpuObserver, testing::Values("float32", "mixed_bfloat16"),
                         [](const auto& policy) { return policy.param; });

TEST_P(GpuObserver, AccountsForEveryMomentOfAFitFromArrays) {
  for (bool captured : {true, false}) {
    Context gpu = context({.capture = captured});
    Diagnosis diagnosis = diagnosis_of_fit(picture_model(gpu));
    EXPECT_GE(diagnosis.steps, 130);
    expect_closed(diagnosis);
  }
}

// Programs of the last batch and of validation run between the steps.
TEST_P(GpuObserver, AccountsForEpochsWithSmallerBatchesAndValidation) {
  Context gpu = context();
  Sequential model = picture_model(gpu);
  Data data = pictures(40 * kBatch + 5, 1);
  for (int fit = 0; fit < 2; ++fit) {
    model.fit(pipeline(data), {.epochs = 4, .validation_data = pipeline(data), .verbose = 0});
    Diagnosis diagnosis = last_diagnosis(model).value();
    EXPECT_GE(diagnosis.steps, 140) << "of fit " << fit;
    expect_closed(diagnosis);
  }
}

TEST_P(GpuObserver, AccountsForAccumulatedGradients) {
  Context gpu = context();
  Diagnosis diagnosis =
      diagnosis_of_fit(picture_model(gpu, Adam({.gradient_accumulation_steps = 3})));
  EXPECT_GE(diagnosis.steps, 120);
  expect_closed(diagnosis);
}

// In line with the kernels nothing hides a copy.
TEST_P(GpuObserver, SeesACopyThatTheDeviceWaitsFor) {
  Context gpu = context({.pin = false});
  Diagnosis diagnosis = diagnosis_of_fit(picture_model(gpu));
  EXPECT_GT(diagnosis.shares[Owner::copy], 0);
  expect_closed(diagnosis);
}

TEST_P(GpuObserver, SeesThatTheDeviceWaitsForACallback) {
  struct Reader : Callback {
    void on_train_batch_end(int64_t, const Logs& logs) override { sum += logs["loss"]; }
    double sum = 0;
  } reader;
  Context gpu = context();
  Diagnosis diagnosis = diagnosis_of_fit(picture_model(gpu), {.callbacks = {reader}});
  EXPECT_GT(diagnosis.shares[Owner::sync] + diagnosis.shares[Owner::launch], 0);
  expect_closed(diagnosis);
}

TEST_P(GpuObserver, HearsOfEveryRunOfAStepOnce) {
  Context gpu = context();
  Sequential model = picture_model(gpu);
  Data data = pictures(kBatch, 1);
  model.fit(data.x, data.y, {.batch_size = kBatch, .verbose = 0});
  CachedProgram& cached = *ModelAccess::base(model).trainer->programs.find(
      int(StepKind::train), std::vector<Tensor>{data.x, data.y});
  Program& program = *cached.program;
  program.watch_device_steps();
  DeviceStep step;
  while (program.take_device_step(step)) continue;
  std::vector<DeviceStep> told;
  for (int run = 0; run < 20; ++run) {
    ASSERT_EQ(program.run(std::vector<Tensor>{data.x, data.y}), RunStatus::ok);
    while (program.take_device_step(step)) told.push_back(step);
  }
  program.status();
  while (program.take_device_step(step)) told.push_back(step);
  ASSERT_GE(told.size(), 19U);
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_GT(told[i].busy, 0);
    EXPECT_GT(told[i].copy, 0);
    EXPECT_LE(told[i].exposed_copy, told[i].copy);
    EXPECT_LE(told[i].launched, told[i].issued);
    if (i == 0) continue;
    EXPECT_EQ(told[i].run, told[i - 1].run + 1);
    EXPECT_GT(told[i].launched, told[i - 1].launched);
    EXPECT_GE(told[i].idle, 0);
  }
}

}  // namespace

}  // namespace stoker::test
