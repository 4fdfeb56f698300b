// When runs began and ended, by the device's clock. Off until first used; then every run records a
// few events, which are read once they have completed: never waits. Not thread-safe.
#pragma once

#include <deque>
#include <vector>

#include "engine/backend.h"
#include "engine/cuda/device.h"

namespace stoker::cuda {

class StepTimer {
 public:
  explicit StepTimer(const Device& device) : device_(device) {}

  // `follows`: the run before on this device was the program's own.
  void begin_run(int64_t run, bool follows);
  // Around its copies and its kernels, on their streams.
  void begin_copies(cudaStream_t copies);
  void end_copies(cudaStream_t copies);
  void begin_kernels();
  void kernels_issued();  // the first of them, where they are launched as one
  // Null: it is off. Else what it recorded behind them, which stays for the next runs.
  cudaEvent_t end_kernels();

  void turn_on();
  // The oldest run that is over and was not taken; turns measuring on.
  bool take(DeviceStep& step);

 private:
  static constexpr size_t kInFlight = 16;  // runs whose events are kept apart
  static constexpr size_t kMostTold = 64;

  struct Marks {
    Event copies_begin{Event::Timing::on}, copies_end{Event::Timing::on};
    Event begin{Event::Timing::on}, end{Event::Timing::on};
    int64_t run = -1, launched = 0, issued = 0;
    bool follows = false, ran_dry = false, complete = false;
  };

  Marks& at(int64_t run) { return marks_[size_t(run) % kInFlight]; }
  void read_finished();
  DeviceStep read(Marks& marks);

  const Device& device_;
  std::vector<Marks> marks_;  // empty: off
  int64_t current_ = -1, next_read_ = 0;
  std::deque<DeviceStep> told_;
};

}  // namespace stoker::cuda
