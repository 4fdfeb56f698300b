// What a fit tells the doctor besides its steps' times: compiling, and callbacks between epochs.
#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include "base/clock.h"
#include "observe/observed.h"
#include "train/model/trainer.h"

namespace stoker::doctor {
namespace {

constexpr int64_t kWork = 2'000'000;  // nanoseconds

class Worker : public Callback {
 public:
  explicit Worker(bool in_steps) : in_steps_(in_steps) {}
  void on_train_batch_end(int64_t, const Logs&) override { work(in_steps_); }
  void on_epoch_end(int64_t, const Logs&) override { work(!in_steps_); }

 private:
  static void work(bool now) {
    for (int64_t end = steady_clock().now() + kWork; now && steady_clock().now() < end;) continue;
  }
  bool in_steps_;
};

class FitFacts : public testing::Test {
 protected:
  FitFacts() {
    context_.device = "cpu";
    context_.out = nullptr;
  }

  // What the observer of a fit over sequences of these lengths has seen.
  Evidence seen(const std::vector<int64_t>& lengths, const FitArgs& args = {.verbose = 0}) {
    std::vector<Batch> batches;
    for (int64_t length : lengths)
      batches.push_back({Tensor::zeros({4, length, 3}), Tensor::zeros({4}, DType::int64)});
    Sequential model(
        {Input({-1, 3}), GlobalAveragePooling1D(), Dense(2, {.activation = "softmax"})});
    model.compile(
        {.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .context = &context_});
    model.fit(batches, args);
    auto diagnosis = ModelAccess::base(model).trainer->diagnosis;
    return std::static_pointer_cast<const Observed>(diagnosis)->evidence;
  }

  Context context_;
};

TEST_F(FitFacts, TellWhichStepsWereCompiledFirst) {
  std::vector<int64_t> different, same(40, 5);
  for (int64_t length = 1; length <= 40; ++length) different.push_back(length);
  Evidence evidence = seen(different);
  EXPECT_DOUBLE_EQ(evidence.making_share, 1);
  EXPECT_GT(evidence.making_ns, 0);
  EXPECT_GE(evidence.total()[Owner::sync], evidence.making_ns * double(evidence.steady_steps) / 2);
  evidence = seen(same);
  EXPECT_DOUBLE_EQ(evidence.making_share, 0);
  EXPECT_DOUBLE_EQ(evidence.making_ns, 0);
}

TEST_F(FitFacts, TellCallbacksInStepsFromThoseBetweenEpochs) {
  std::vector<int64_t> lengths(20, 5);
  auto with = [](bool in_steps) {
    return FitArgs{
        .epochs = 3, .verbose = 0, .callbacks = {CallbackRef(std::make_shared<Worker>(in_steps))}};
  };
  CallbackFacts callback = seen(lengths, with(true)).callbacks.at(0);
  EXPECT_EQ(callback.name, "Worker");
  EXPECT_GE(callback.ns, kWork);
  EXPECT_LT(callback.epoch_ns, callback.ns * 20) << "nothing of it is between epochs";
  Evidence evidence = seen(lengths, with(false));
  EXPECT_GE(evidence.callbacks.at(0).epoch_ns, kWork);
  EXPECT_EQ(evidence.epochs.count, 2) << "all but the first";
  EXPECT_GE(evidence.epochs.turn_ns, kWork);
}

}  // namespace
}  // namespace stoker::doctor
