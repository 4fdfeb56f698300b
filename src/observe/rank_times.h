// How long the steps of an epoch took on each process of a data-parallel fit.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/evidence.h"
#include "train/fit/step_observer.h"

namespace stoker {
struct Trainer;
}

namespace stoker::doctor {

// On the thread of the fit.
class RankTimes {
 public:
  void add(const StepTimes& times);
  // Collective: every process calls it at the end of an epoch. Does nothing in a fit of one process.
  void epoch_ended(const Trainer& trainer);
  // Of the last epoch, by rank; empty: none has ended, or there is one process.
  const std::vector<RankFacts>& facts() const { return facts_; }

 private:
  // Over the steps of an epoch; nanoseconds.
  struct Sums {
    int64_t steps = 0, wall = 0, input = 0, rows = 0;
  };

  Sums epoch_;
  int64_t waited_ns_ = 0;  // for the others, since the fit began
  std::vector<RankFacts> facts_;
};

}  // namespace stoker::doctor
