// Tier 2: steps under other circumstances, some twenty each. Every experiment begins with the state
// that the model had, so that none trains it any further.
#pragma once

#include <functional>
#include <span>

#include "observe/observed.h"
#include "train/model/state_snapshot.h"

namespace stoker::doctor {

struct ExperimentPlace {
  ModelBase& model;
  const Batches& batches;
  std::span<const Tensor> batch;  // one of them, where the pipeline has put it
  StateSnapshot& state;
  std::function<bool()> has_time;  // for one more
};

// Adds what was measured to the evidence and to the diagnosis' experiments. Settings of the device
// are put back; the state is not.
void make_experiments(const ExperimentPlace& place, Observed& observed);

}  // namespace stoker::doctor
