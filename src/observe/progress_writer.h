// How a fit stands, for status.json of its run folder: counted with every step, written when told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "observe/status_file.h"
#include "train/fit/step_observer.h"

namespace stoker::doctor {

class ProgressWriter {
 public:
  // `folder` empty: nothing is written. `began`: when the fit did, nanoseconds of the steady clock.
  ProgressWriter(const FitView& view, std::string folder, int64_t began)
      : view_(view), folder_(std::move(folder)), began_ns_(began) {}

  void begin();
  void add(const StepTimes& times);
  void epoch_ended() { steps_in_epoch_ = last_.step + 1; }
  // `now` may be null: too few steps for a diagnosis. Trouble is said once per reason.
  void write(const Diagnosis* now);
  // `error` empty: all went well. Nothing happens where the fit never began.
  void end(const std::string& error, const Diagnosis* now);

 private:
  void read_metrics();
  double seconds_left() const;
  void say_trouble(const std::string& error);

  FitView view_;
  std::string folder_;
  int64_t began_ns_;
  bool began_ = false;
  FitState state_ = FitState::training;
  std::string reason_;   // of a failure
  std::string trouble_;  // why status.json was not written; empty: it was
  std::vector<std::pair<std::string, double>> metrics_;
  StepTimes last_;
  int64_t steps_done_ = 0, first_end_ = 0;
  int64_t steps_in_epoch_ = -1;  // of the last whole one
};

}  // namespace stoker::doctor
