// One of cuDNN's plans for a convolution, and which there are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/cuda/conv_descriptors.h"

namespace stoker::cuda {

class CudnnPlan final : public ConvPlan {
 public:
  CudnnPlan(Descriptor plan, size_t workspace, int64_t engine, bool bias)
      : plan_(std::move(plan)), workspace_(workspace), engine_(engine), bias_(bias) {}

  size_t workspace() const override { return workspace_; }
  std::string name() const override;
  void run(const Device& device, void* x, void* w, void* y, void* bias,
           void* workspace) const override;
  // As run, but says whether it could.
  cudnnStatus_t execute(cudnnHandle_t handle, void* x, void* w, void* y, void* bias,
                        void* workspace) const;

 private:
  Descriptor plan_;
  size_t workspace_;
  int64_t engine_;
  bool bias_;
};

using PlanPointer = std::shared_ptr<const CudnnPlan>;

// The first `most` usable plans in the order of cuDNN's heuristic; where that has none, one that
// always works; empty where there is none at all.
std::vector<PlanPointer> cudnn_plans(const ConvKey& key, cudnnHandle_t handle, size_t most);

}  // namespace stoker::cuda
