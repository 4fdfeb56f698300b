// Tries settings that cannot change results on a running fit: blocks of steps with and without them
// in turn, kept if the gain is at least 3 % and its 95 % interval excludes zero. State machines
// over steps: they are called when a step has ended and return the settings that hold from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <stoker/doctor.h>

#include "base/pipeline_statistics.h"
#include "engine/backend.h"

namespace stoker::doctor {

// The mean of some numbers and its 95 % interval (Student's t).
struct GainInterval {
  double mean = 0, low = 0, high = 0;
};
GainInterval interval_of(const std::vector<double>& values);

class AlternatingTrial {
 public:
  struct Options {
    int64_t settle = 4;  // steps after a change that do not count
    int64_t block = 10;  // that do
    int least_pairs = 3, most_pairs = 8;
  };
  enum class Decision : uint8_t { undecided, keep, revert };

  explicit AlternatingTrial(const Options& options) : options_(options) {}
  AlternatingTrial() : AlternatingTrial(Options{}) {}

  // A step took so long; true: the settings change now, see with_change().
  bool step_ended(int64_t ns);
  bool with_change() const { return changed_; }
  Decision decision() const { return decision_; }
  // Seconds per step, geometric means over the pairs of blocks; the gain is 1 - after / before.
  double before_seconds() const;
  double after_seconds() const;
  GainInterval gain() const;

 private:
  void end_block();
  size_t pairs() const { return std::min(with_.size(), without_.size()); }

  Options options_;
  bool changed_ = false;
  int64_t in_block_ = 0;
  std::vector<double> steps_;           // of this block
  std::vector<double> without_, with_;  // one mean per block
  Decision decision_ = Decision::undecided;
};

// What is tried, in this order.
struct Remedy {
  Knob knob = Knob::none;
  Action action = Action::prefetch;
  std::string what = {}, why = {};
  int64_t fill = 0;  // steps with it before the trial: an epoch, for a cache
};
// What could help a fit whose device waits for input or not. `pipeline`: nothing known, `device`:
// the device is the host.
std::vector<Remedy> remedies_for(const std::optional<PipelineStatistics>& pipeline,
                                 const std::optional<DeviceKnobs>& device, bool waits_for_input,
                                 int64_t batch_size);

struct TuneSettings {
  PipelineKnobs pipeline = {};
  DeviceKnobs device = {};
};
TuneSettings with(TuneSettings settings, Knob knob);

// Tries one remedy after the other. What is kept goes on for some steps before the next, so that
// its own tuning comes to rest: that is the settled time.
class Tuning {
 public:
  using Apply = std::function<void(const TuneSettings&)>;
  Tuning(std::vector<Remedy> remedies, const TuneSettings& now, Apply apply);

  void step_ended(int64_t ns);
  bool done() const { return remedy_ == remedies_.size(); }
  const std::vector<Prescription>& tried() const { return tried_; }

 private:
  enum class Stage : uint8_t { fill, trial, settle };
  const Remedy& remedy() const { return remedies_[remedy_]; }
  void begin_remedy();
  void end_trial();
  void apply_trial();

  std::vector<Remedy> remedies_;
  TuneSettings kept_;
  Apply apply_;
  size_t remedy_ = 0;
  Stage stage_ = Stage::trial;
  int64_t steps_in_stage_ = 0, stage_ns_ = 0;
  std::vector<int64_t> settling_;  // steps since the last remedy was kept
  AlternatingTrial trial_;
  std::vector<Prescription> tried_;
};

}  // namespace stoker::doctor
