#include "engine/cuda/step_timer.h"

#include <algorithm>

#include "base/clock.h"

namespace stoker::cuda {

namespace {

int64_t nanoseconds(const Event& from, const Event& to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, from.get(), to.get()), "reading the times of a step");
  return int64_t(double(ms) * 1e6);
}

}  // namespace

void StepTimer::begin_run(int64_t run, bool follows) {
  if (marks_.empty()) return;
  read_finished();
  if (current_ < 0) next_read_ = run;
  current_ = run;
  Marks& marks = at(run);
  const Marks& before = at(run + int64_t(kInFlight) - 1);
  marks.run = run;
  marks.complete = false;
  marks.follows = follows && before.run == run - 1 && before.complete;
  marks.ran_dry = marks.follows && before.end.is_over();
}

void StepTimer::begin_copies(cudaStream_t copies) {
  if (current_ >= 0) at(current_).copies_begin.record(copies);
}

void StepTimer::end_copies(cudaStream_t copies) {
  if (current_ >= 0) at(current_).copies_end.record(copies);
}

void StepTimer::begin_kernels() {
  if (current_ < 0) return;
  Marks& marks = at(current_);
  marks.launched = marks.issued = steady_clock().now();
  marks.begin.record(device_.stream());
}

void StepTimer::kernels_issued() {
  if (current_ >= 0) at(current_).issued = steady_clock().now();
}

cudaEvent_t StepTimer::end_kernels() {
  if (current_ < 0) return nullptr;
  at(current_).end.record(device_.stream());
  at(current_).complete = true;
  return at(current_).end.get();
}

DeviceStep StepTimer::read(Marks& marks) {
  DeviceStep step{.launched = marks.launched,
                  .issued = marks.issued,
                  .run = marks.run,
                  .ran_dry = marks.ran_dry};
  step.busy = nanoseconds(marks.begin, marks.end);
  step.copy = nanoseconds(marks.copies_begin, marks.copies_end);
  Marks& before = at(marks.run + int64_t(kInFlight) - 1);
  if (!marks.follows || before.run != marks.run - 1) return step;
  step.idle = std::max<int64_t>(nanoseconds(before.end, marks.begin), 0);
  int64_t late = nanoseconds(before.end, marks.copies_end);
  step.exposed_copy = std::clamp<int64_t>(late, 0, std::min(step.idle, step.copy));
  return step;
}

void StepTimer::read_finished() {
  // One is left: its end is where the next run's idle time begins.
  next_read_ = std::max(next_read_, current_ - int64_t(kInFlight) + 3);
  for (; next_read_ <= current_; ++next_read_) {
    Marks& marks = at(next_read_);
    if (marks.run != next_read_ || !marks.complete) continue;
    if (!marks.end.is_over()) break;
    told_.push_back(read(marks));
    if (told_.size() > kMostTold) told_.pop_front();
  }
}

void StepTimer::turn_on() {
  if (marks_.empty()) marks_.resize(kInFlight);
}

bool StepTimer::take(DeviceStep& step) {
  turn_on();
  if (current_ < 0) return false;
  read_finished();
  if (told_.empty()) return false;
  step = told_.front();
  told_.pop_front();
  return true;
}

}  // namespace stoker::cuda
