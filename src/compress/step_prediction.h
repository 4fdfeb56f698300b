// The time of a step, predicted from the ops of another one that was timed.
//
// An op costs flops / F + bytes / B, F and B being what the timed step reaches where it computes and
// where it moves data. The op of the same layer is predicted to take its measured time, less what
// any op takes to begin, times the ratio of these costs. Ops that the timed step does not have
// (another kernel that fuses less) take their cost. Convolutions are counted in whole vectors of
// channels: 37 cost what 48 cost.
#pragma once

#include <map>
#include <vector>

#include "observe/layer_times.h"
#include "train/step/steps.h"

namespace stoker::compress {

struct OpWork {
  double flops = 0, bytes = 0;
  double seconds = 0;  // 0: was not timed
  int64_t kernels = 0;
};
using StepWork = std::map<doctor::OpKey, OpWork>;

// What the ops of a step do; none of them runs.
StepWork work_of(const CachedProgram& step);
// Runs the step some times, and notes the shortest time of each op: what else the machine does makes
// ops slower, never faster.
void time_ops(CachedProgram& step, std::span<const Tensor> batch, StepWork& work);

// Seconds of all ops. `timed` has times.
double total_seconds(const StepWork& timed);
double predicted_seconds(const StepWork& timed, const StepWork& other);

}  // namespace stoker::compress
