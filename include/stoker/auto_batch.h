// batch = auto: how many samples a step should have. The batch doubles until throughput gains less
// than 5 %, within memory.
//
//   model.fit(x, y, {.batch_size = Auto});                             // arrays
//   int64_t batch = auto_batch_size(model, {.samples = 60000});        // datasets
//   model.fit(train.batch(batch), …);
//
// The rule, in this order:
//   1. powers of two, from 8 on;
//   2. at most samples / 16, so that an epoch has 16 steps or more, but not below 32; never more
//      than there are samples, or than `largest`;
//   3. only what fits: nine tenths of a GPU's free memory (or of Context::memory_limit), half of
//      what the machine or its control group has available to a CPU;
//   4. the batch grows as long as twice as many samples per step give 5 % more samples per second; a
//      single size that does not is passed over.
//
// Real training steps are timed, on the fit's own data or on made-up data. Weights, optimiser,
// random state and metrics are put back to the last bit; functions of HostLayers run for real.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <stoker/model.h>

namespace stoker {

struct AutoBatchArgs {
  int64_t samples = 0;  // in an epoch; 0: not known, and rule 2 says nothing about them
  int64_t largest = 0;  // 0: 8192
  int64_t memory = 0;   // bytes that a step may take; 0: as rule 3 says
};

struct BatchTrial {
  int64_t batch = 0;
  double samples_per_second = 0;
};

struct AutoBatch {
  int64_t batch = 0;
  std::string why = {};                 // "128 is only 2 % faster"
  std::vector<BatchTrial> trials = {};  // the smallest first
  std::string learning_rate = {};       // what becomes of one that was chosen for batch 32

  std::string text() const;  // two lines of text
};

// Of a compiled model, on made-up data. Error when not even the smallest batch fits, with what it
// would need, when the shape of the targets cannot be known before the first step (a loss of your
// own), and while the model is being trained.
AutoBatch measure_batch_size(const Model& model, const AutoBatchArgs& args = {});
int64_t auto_batch_size(const Model& model, const AutoBatchArgs& args = {});  // its batch

}  // namespace stoker
