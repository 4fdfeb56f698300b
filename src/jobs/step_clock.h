// How long the steps of a fit took, waiting for batches included, validation not.
#pragma once

#include <cstdint>
#include <optional>

#include <stoker/callbacks.h>

#include "base/clock.h"

namespace stoker::jobs {

// The first step of all, which compiles, is counted apart where there are others.
class StepClock : public Callback {
 public:
  void on_epoch_begin(int64_t) override {
    begin_ = now();
    epoch_steps_ = 0;
  }
  void on_train_batch_end(int64_t, const Logs&) override {
    if (steps_ + epoch_steps_++ == 0) {
      first_ = now() - begin_;
      begin_ = now();
    }
  }
  // Loss and metrics have been read by then: the device has finished the epoch's steps.
  void on_test_begin() override { close(); }
  void on_epoch_end(int64_t, const Logs&) override { close(); }

  int64_t steps() const { return steps_; }
  double first_seconds() const { return first_; }
  double seconds_per_step() const { return steps_ > 1 ? total_ / double(steps_ - 1) : first_; }

 private:
  static double now() { return double(steady_clock().now()) * 1e-9; }
  void close() {
    if (epoch_steps_ == 0) return;
    total_ += now() - begin_;
    steps_ += epoch_steps_;
    epoch_steps_ = 0;
  }

  double begin_ = 0, first_ = 0, total_ = 0;
  int64_t steps_ = 0, epoch_steps_ = 0;
};

}  // namespace stoker::jobs
