// BackupAndRestore: SIGINT, SIGTERM and SIGHUP end a fit after its step, with a checkpoint.
#include <csignal>

#include "train/checkpoint/checkpoint_files.h"
#include "train/resuming.h"

namespace stoker {
namespace {

using namespace test;

class Signals : public Resume, public testing::WithParamInterface<int> {
 protected:
  Signals() : before_(std::signal(GetParam(), SIG_DFL)) {}  // nohup ignores SIGHUP
  ~Signals() override { std::signal(GetParam(), before_); }

 private:
  void (*before_)(int);
};
INSTANTIATE_TEST_SUITE_P(All, Signals, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_P(Signals, EndTheFitAfterItsStepWithACheckpoint) {
  TempDir dir;
  FitCall plain = on_arrays(data_, {.epochs = 3, .batch_size = 8});
  Outcome expected = train(BackupAndRestore(dir / "whole"), plain);
  FitCall fit = [&](const Model& model, FitArgs args) {
    args.epochs = 3, args.batch_size = 8;
    int step = 0;
    args.callbacks.emplace_back(LambdaCallback({.on_train_batch_begin = [step](int64_t) mutable {
      if (++step == 10) raise(GetParam());
    }}));
    return model.fit(data_.x, data_.y, args);
  };
  try {
    train(BackupAndRestore(dir / "c"), fit);
    FAIL();
  } catch (const Interrupted& error) {
    EXPECT_EQ(error.signal(), GetParam());
    EXPECT_EQ(error.exit_code(), 128 + GetParam());
    EXPECT_TRUE(says(error.what(), {"in epoch 2 after step 3", "run the same program again",
                                    checkpoint_name(1, 3).c_str()}));
  }
  expect_same(train(BackupAndRestore(dir / "c"), plain), expected);
}

TEST_P(Signals, EndTheFitInItsValidationToo) {
  TempDir dir;
  FitArgs common{.epochs = 2, .batch_size = 8, .validation_data = {data_.x, data_.y}};
  Outcome expected = train(BackupAndRestore(dir / "whole"), on_arrays(data_, common));
  FitCall fit = [&](const Model& model, FitArgs args) {
    struct Raising : Callback {
      void on_test_batch_begin(int64_t batch) override {
        if (batch == 2) raise(GetParam());
      }
    };
    args.callbacks.emplace_back(Raising());
    FitArgs all = common;
    all.callbacks = args.callbacks;
    return model.fit(data_.x, data_.y, all);
  };
  EXPECT_THROW(train(BackupAndRestore(dir / "c"), fit), Interrupted);
  EXPECT_EQ(latest_checkpoint(dir / "c"), (dir / "c") + "/" + checkpoint_name(0, 7));
  expect_same(train(BackupAndRestore(dir / "c"), on_arrays(data_, common)), expected);
}

TEST_P(Signals, GoBackToWhomTheyBelonged) {
  TempDir dir;
  struct sigaction before = {}, inside = {}, after = {};
  sigaction(GetParam(), nullptr, &before);
  FitCall fit = [&](const Model& model, FitArgs args) {
    args.callbacks.emplace_back(LambdaCallback(
        {.on_epoch_begin = [&](int64_t) { sigaction(GetParam(), nullptr, &inside); }}));
    return model.fit(data_.x, data_.y, args);
  };
  train(BackupAndRestore(dir / "c"), fit);
  sigaction(GetParam(), nullptr, &after);
  EXPECT_NE(inside.sa_handler, before.sa_handler);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  train(BackupAndRestore(dir / "d", {.handle_signals = false}), fit);
  EXPECT_EQ(inside.sa_handler, before.sa_handler);
}

int own_signals = 0;
void count_signal(int) { ++own_signals; }

TEST_P(Signals, OfAProgramThatHandlesThemStayItsOwn) {
  TempDir dir;
  auto before = std::signal(GetParam(), count_signal);
  own_signals = 0;
  FitCall fit = [&](const Model& model, FitArgs args) {
    args.callbacks.emplace_back(
        LambdaCallback({.on_epoch_begin = [](int64_t) { raise(GetParam()); }}));
    return model.fit(data_.x, data_.y, args);
  };
  train(BackupAndRestore(dir / "c"), fit);
  EXPECT_EQ(own_signals, 1);
  std::signal(GetParam(), before);
}

}  // namespace
}  // namespace stoker
