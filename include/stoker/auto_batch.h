// batch = auto: how many samples a step should have, from the exact memory plan.
//
//   int64_t batch = auto_batch_size(model, {.samples = 60000});
//   model.fit(train.batch(batch), …);
//
// The rule, in this order:
//   1. powers of two from 8 on;
//   2. at most `largest`: 1024 on a GPU; 128 on a CPU, whose samples/s no longer grow from there
//   on;
//   3. at most samples / 32, so that an epoch has 32 steps and more;
//   4. the largest of them whose memory_plan(batch) fits into what the device has left: nine
//      tenths of a GPU (or of Context::memory_limit), half of what the machine or its control group
//      has available to a CPU.
#pragma once

#include <cstdint>

#include <stoker/model.h>

namespace stoker {

struct AutoBatchArgs {
  int64_t samples = 0;  // in an epoch; 0: not known, and rule 3 says nothing
  int64_t largest = 0;  // 0: as rule 2 says
  int64_t memory = 0;   // bytes that a step may take; 0: as rule 4 says
};

// The model is compiled. Error when not even a batch of 8 fits, with what it would need, or when
// the plan cannot be known before the first step (a loss of the user's own). Compiles the programs
// of two small batches and of the chosen one, which fit then finds ready.
int64_t auto_batch_size(const Model& model, const AutoBatchArgs& args = {});

}  // namespace stoker
