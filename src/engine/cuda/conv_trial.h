// How long cuDNN's plans for a convolution take, on memory of their own.
#pragma once

#include <optional>

#include "engine/cuda/cudnn_plan.h"

namespace stoker::cuda {

class ConvTrial {
 public:
  // Nothing where it does not fit.
  static std::optional<ConvTrial> make(const ConvKey& key, const std::shared_ptr<DevicePool>& pool,
                                       size_t workspace);

  // Milliseconds of one run; nothing when the plan cannot run. A short plan is timed as it will be
  // run, from a captured graph: else the host's launches would be timed.
  std::optional<float> time(const CudnnPlan& plan) const;

  // Milliseconds until it and the other, which began at once, have both ended.
  std::optional<float> time_beside(const CudnnPlan& plan, const ConvTrial& other,
                                   const ConvPlan& others) const;

 private:
  ConvTrial(const ConvKey& key, const std::shared_ptr<DevicePool>& pool, size_t workspace);
  bool run(const CudnnPlan& plan) const;
  void run_other(const ConvPlan& plan) const;

  std::shared_ptr<DevicePool> pool_;
  DeviceBlock x_, w_, y_, bias_, workspace_;
};

}  // namespace stoker::cuda
