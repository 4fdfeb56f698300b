#include "observe/progress_writer.h"

#include <algorithm>
#include <ostream>

#include "base/clock.h"
#include "base/printable.h"
#include "train/callbacks/callback_support.h"
#include "train/fit/loops.h"

namespace stoker::doctor {

void ProgressWriter::begin() {
  began_ = true;
  write(nullptr);
}

void ProgressWriter::add(const StepTimes& times) {
  if (steps_done_++ == 0) first_end_ = times.end;
  last_ = times;
}

void ProgressWriter::end(const std::string& error, const Diagnosis* now) {
  if (!began_) return;
  state_ = error.empty() ? FitState::finished : FitState::failed;
  reason_ = error;
  write(now);
}

void ProgressWriter::write(const Diagnosis* now) {
  if (folder_.empty()) return;
  if (state_ != FitState::failed) read_metrics();  // a device that failed may not answer
  FitProgress progress{.state = state_,
                       .reason = reason_,
                       .epoch = last_.epoch,
                       .epochs = view_.args.epochs,
                       .step = steps_done_ > 0 ? last_.step : -1,
                       .steps = view_.training.steps().value_or(-1),
                       .seconds = double(steady_clock().now() - began_ns_) * 1e-9,
                       .seconds_left = seconds_left(),
                       .metrics = metrics_};
  say_trouble(write_status(folder_, progress, now));
}

// The epoch's so far, and of validation and the like the last that are known.
void ProgressWriter::read_metrics() {
  if (steps_done_ == 0) return;
  metrics_.clear();
  Logs live = Logs(view_.model.trainer->compiled->training).snapshot();
  for (size_t i = 0; i < live.size(); ++i) metrics_.emplace_back(live.names()[i], live.value(i));
  const History& history = view_.model.trainer->history;
  for (const std::string& name : history.names())
    if (!live.has(name) && !history[name].empty())
      metrics_.emplace_back(name, history[name].back());
}

// At the speed so far, with everything that happens between steps; -1: unknown.
double ProgressWriter::seconds_left() const {
  int64_t steps = view_.training.steps().value_or(steps_in_epoch_);
  if (steps <= 0 || steps_done_ < 2 || state_ != FitState::training) return -1;
  int64_t left = (view_.args.epochs - last_.epoch) * steps - (last_.step + 1);
  double passed = double(steady_clock().now() - first_end_) * 1e-9;
  return std::max(0.0, passed / double(steps_done_ - 1) * double(left));
}

// Once, and again when the reason changes: it is tried every second.
void ProgressWriter::say_trouble(const std::string& error) {
  std::string reason = error.empty() ? "" : reason_of(error);
  if (reason == std::exchange(trouble_, reason) || view_.context.out == nullptr) return;
  *view_.context.out << (error.empty() ? "status.json: writing works again"
                                       : printable(error) + "; training goes on")
                     << "\n"
                     << std::flush;
}

}  // namespace stoker::doctor
