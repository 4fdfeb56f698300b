// What training a model took, to be held against what was predicted.
#pragma once

#include <algorithm>

#include "base/memory_info.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker::jobs {

// Bytes of the device, where it works beside the host; else what the process allocated since
// anonymous_memory() was `before`, threads included. The arena of a model that has trained is still
// there, so this is also the peak of its steps.
inline int64_t memory_taken(const Model& model, int64_t before) {
  const CachedProgram* step =
      ModelAccess::base(model).trainer->programs.latest(int(StepKind::train));
  size_t device = step != nullptr ? step->program->device_counts().bytes : 0;
  return device > 0 ? int64_t(device) : std::max<int64_t>(anonymous_memory() - before, 0);
}

}  // namespace stoker::jobs
