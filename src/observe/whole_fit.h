// Where a whole fit went: its steps, and what happens between its epochs. The two come from
// different moments of the loop, and the time of all from a third reading of the clock, so that what
// is left over is unexplained.
#pragma once

#include <stoker/doctor.h>

#include "observe/evidence.h"
#include "train/fit/step_observer.h"

namespace stoker::doctor {

// Nanoseconds of an epoch's steps in which the host waited for batches, or worked between steps.
// Where the device is the host, that is when it did not compute.
struct EpochWaits {
  int64_t input = 0, sync = 0, wall = 0;
};

class WholeFit {
 public:
  void add(const StepTimes& step);
  // `last`: the latest step that was added. Waiting for the device behind it is a part of the
  // steps.
  void add(const EpochTimes& epoch, const StepTimes& last);

  FitShares shares(int64_t wall) const;
  EpochFacts epochs() const;
  double looked_seconds() const;  // per step
  // Since the last call; the first step of all is left out.
  EpochWaits take_epoch();
  double waited_seconds() const { return double(waited_ns_) * 1e-9; }  // of the epochs taken

 private:
  int64_t steps_ = 0, looked_ns_ = 0;
  EpochWaits epoch_;
  int64_t waited_ns_ = 0;
  int64_t steps_ns_ = 0, read_ns_ = 0, validation_ns_ = 0, turns_ns_ = 0;
  EpochFacts later_;  // sums over all epochs but the first
  bool first_ = true;
};

}  // namespace stoker::doctor
