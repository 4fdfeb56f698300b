#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include "support/temp_dir.h"
#include "train/checkpoint/verify_resume.h"
#include "train/helpers.h"
#include "train/model/weights_hash.h"

namespace stoker {
namespace {

class VerifyResume : public testing::Test {
 protected:
  // Trains as the contract says; `extra` makes a mistake that a stop reveals.
  TrainingResult train(const std::string& directory, std::optional<int64_t> stop,
                       std::vector<CallbackRef> extra = {}) {
    set_seed(3);
    Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    extra.emplace_back(BackupAndRestore(directory + "/checkpoints", {.stop_after_steps = stop}));
    TrainingResult result;
    result.history =
        model.fit(data_.x, data_.y, {.epochs = 2, .batch_size = 8, .callbacks = extra});
    result.weights_sha256 = weights_sha256(model);
    return result;
  }

  test::OnDevice device_{"cpu"};
  test::Data data_ = test::blobs(40, 4, 3, 7);
  test::TempDir dir_;
};

TEST_F(VerifyResume, SaysThatATrainingIsExact) {
  ResumeReport report =
      verify_resume([&](const std::string& directory,
                        std::optional<int64_t> stop) { return train(directory, stop); },
                    {.directory = dir_.path().string(), .stops = {3, 2}});
  EXPECT_TRUE(report.same());
  EXPECT_EQ(report.stops, 2);
  EXPECT_TRUE(test::says(to_string(report), {"after 2 stops", "exact: weights and history"}));
  EXPECT_EQ(report.resumed.weights_sha256.size(), 64U);
}

TEST_F(VerifyResume, FindsACallbackThatForgets) {
  struct Forgetful : Callback {  // counts steps, and keeps the count nowhere
    int64_t steps = 0;
    void on_train_batch_end(int64_t, const Logs&) override {
      if (++steps == 7) model().optimizer().set_learning_rate(0.1);
    }
  };
  ResumeReport report = verify_resume(
      [&](const std::string& directory, std::optional<int64_t> stop) {
        return train(directory, stop, {CallbackRef(Forgetful())});
      },
      {.directory = dir_.path().string(), .stops = {4}});
  EXPECT_FALSE(report.same());
  EXPECT_TRUE(test::says(to_string(report), {"differs      weights", "\"loss\"", "NOT exact"}));
}

TEST_F(VerifyResume, ATrainingThatWasNeverStoppedShowsNothing) {
  ResumeReport report =
      verify_resume([&](const std::string& directory,
                        std::optional<int64_t> stop) { return train(directory, stop); },
                    {.directory = dir_.path().string(), .stops = {1000}});
  EXPECT_FALSE(report.same());
  EXPECT_TRUE(test::says(to_string(report), {"Nothing was shown"}));
  EXPECT_THROW(verify_resume({}, {.directory = dir_.path().string()}), FileError);
  EXPECT_THROW(verify_resume({}, {.directory = dir_.path().string(), .stops = {}}), ValueError);
}

}  // namespace
}  // namespace stoker
