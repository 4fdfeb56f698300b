// Attention described to cuDNN: the graph of products, mask and softmax that it recognises and runs as one kernel.
#pragma once

#include <optional>

#include "engine/cuda/attention_plan.h"

namespace stoker::cuda {

// How tensors are named in a call; what lies between steps is numbered from kBetween on.
enum AttentionId : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOut,
  kLse,
  kDout,
  kDquery,
  kDkey,
  kDvalue,
  kScale,
  kLowest,
  kOne,
  kDelta,
  kDqueryWide,
  kBetween
};

// Nothing where cuDNN does not support it.
std::optional<Operations> describe(const AttentionKey& key, cudnnHandle_t handle);

}  // namespace stoker::cuda
