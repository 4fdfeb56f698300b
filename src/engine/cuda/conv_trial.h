// How long cuDNN's plans for a convolution take, on memory of their own.
#pragma once

#include <optional>

#include "engine/cuda/cudnn_plan.h"

namespace stoker::cuda {

struct Tried {
  size_t index;  // among the candidates
  PlanPointer plan;
  std::optional<float> ms;  // nothing: it cannot run
};

class ConvTrial {
 public:
  // Nothing where it does not fit.
  static std::optional<ConvTrial> make(const ConvKey& key, const std::shared_ptr<DevicePool>& pool,
                                       size_t workspace);

  // Milliseconds of one run; nothing when the plan cannot run. A short plan is timed as it will be
  // run, from a captured graph: else the host's launches would be timed. One that is far slower than
  // `best` is timed once.
  std::optional<float> time(const CudnnPlan& plan, std::optional<float> best);

  // Milliseconds until it and the other, which began at once, have both ended.
  std::optional<float> time_beside(const CudnnPlan& plan, const ConvTrial& other,
                                   const ConvPlan& others) const;

 private:
  ConvTrial(const ConvKey& key, const std::shared_ptr<DevicePool>& pool, size_t workspace);
  bool reserve(size_t workspace);  // false: it does not fit
  bool run(const CudnnPlan& plan) const;
  void run_other(const ConvPlan& plan) const;

  std::shared_ptr<DevicePool> pool_;
  DeviceBlock x_, w_, y_, bias_, workspace_;
};

}  // namespace stoker::cuda
