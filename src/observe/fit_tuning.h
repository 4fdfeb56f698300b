// tune = Auto on a running fit: when trials begin, what they may change, and how settings reach the pipeline and the
// device. The trials themselves are tuning.h.
#pragma once

#include <optional>
#include <vector>

#include "observe/recording.h"
#include "observe/tuning.h"
#include "train/fit/step_observer.h"

namespace stoker::doctor {

// On the thread of the fit. `recording` holds the steps so far and is begun anew when the trials end.
class FitTuning {
 public:
  FitTuning(const FitView& view, Recording& recording) : view_(view), recording_(recording) {}

  void step_ended(const StepTimes& times);
  bool is_under_way() const { return view_.args.tune == Tune::automatic && !done_; }
  std::vector<Prescription> tried() const {
    return tuning_ ? tuning_->tried() : std::vector<Prescription>();
  }

 private:
  bool begin();
  void apply(const TuneSettings& settings);

  FitView view_;
  Recording& recording_;
  bool done_ = false;
  std::optional<Tuning> tuning_;
  PipelineKnobs pipeline_knobs_;
};

}  // namespace stoker::doctor
