// The parts of batch = auto: a rule that is a pure function of throughputs, and what measures them.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include <stoker/auto_batch.h>

#include "train/model/model_base.h"

namespace stoker {

// From where to where a batch may grow, and what ends it there.
struct BatchBounds {
  int64_t least = 8, most = 8192;
  std::string why_most = {};  // "the largest that was allowed"
};
BatchBounds batch_bounds(const AutoBatchArgs& args);

// Samples per second at a batch size; nothing where it does not fit into memory.
using Throughput = std::function<std::optional<double>(int64_t batch)>;

// Doubles the batch until two doublings gain less than 5 % on the best before them, which is chosen.
// A batch of 0: not even the least fits.
AutoBatch grow_batch(const BatchBounds& range, const Throughput& throughput);

// What becomes of a learning rate that was chosen for batch 32: it grows with the batch (SGD), or
// with its square root (optimisers that divide by the size of gradients). Empty for batch 32.
std::string learning_rate_rule(const std::string& optimizer, int64_t batch);

// Times real steps of a compiled model, over rows of `columns` (none: made-up ones), and puts its
// state back. The caller has the model alone.
AutoBatch measure_batch(ModelBase& model, std::span<const Tensor> columns,
                        const AutoBatchArgs& args);

}  // namespace stoker
