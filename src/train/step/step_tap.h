// Steps as they run: the hook that profiler::start fills and profiler::stop empties. Empty, a step
// costs one relaxed load more.
#pragma once

#include <span>
#include <string_view>

#include <stoker/context.h>

#include "base/hook.h"
#include "base/tracing.h"
#include "train/step/program_cache.h"

namespace stoker {

struct StepCall {
  const Context& context;
  CachedProgram& cached;
  std::span<const Tensor> inputs;
  std::string_view kind;  // of step ("train", "test"), or the name of a function()
  bool alone = false;     // a step of a user's own loop: no fit counts and times it
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

// Every program of a model and of a function() runs here.
inline RunStatus run_tapped(const StepCall& call) {
  RangeScope range(call.kind);
  if (std::shared_ptr<StepTap> tap = active_step_tap().get()) return tap->run(call);
  return call.cached.program->run(call.inputs);
}

}  // namespace stoker
