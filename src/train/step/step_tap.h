// Steps as they run: the hook that a profiler fills. Empty, a step costs one relaxed load more.
#pragma once

#include <span>

#include <stoker/context.h>

#include "base/hook.h"
#include "train/step/program_cache.h"

namespace stoker {

struct StepCall {
  const Context& context;
  CachedProgram& cached;  // its kind is a StepKind
  std::span<const Tensor> inputs;
};

class StepTap {
 public:
  virtual ~StepTap() = default;
  // Runs the step in place of Program::run(), with the same results. From any thread that trains.
  virtual RunStatus run(const StepCall& call) = 0;
};

inline Hook<StepTap>& active_step_tap() {
  static constinit Hook<StepTap> hook;
  return hook;
}

}  // namespace stoker
