// Tries settings that cannot change results on a running fit: blocks of steps with and without them
// in turn, kept if the gain is at least 3 % and its 95 % interval excludes zero. A state machine
// over steps: it is told when a step has ended and says when settings have to change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stoker/doctor.h>

#include "base/pipeline_statistics.h"

namespace stoker {

// The mean of some shares and its 95 % interval (Student's t).
struct GainInterval {
  double mean = 0, low = 0, high = 0;
};
GainInterval interval_of(const std::vector<double>& gains);

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
  // Medians of the blocks, seconds, and the gain.
  double before_seconds() const;
  double after_seconds() const;
  GainInterval gain() const;

 private:
  void end_block();

  Options options_;
  bool changed_ = false;
  int64_t in_block_ = 0;
  std::vector<double> steps_;           // of this block
  std::vector<double> without_, with_;  // a mean a block
  Decision decision_ = Decision::undecided;
};

// What is tried on a pipeline, in this order.
struct Remedy {
  PipelineKnobs knobs;
  std::string what, why;
};
std::vector<Remedy> remedies_for(const PipelineStatistics& pipeline);

}  // namespace stoker
