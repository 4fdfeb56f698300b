// One of cuDNN's plans for a convolution, and which there are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/conv_descriptors.h"

namespace stoker::cuda {

class CudnnPlan final : public ConvPlan {
 public:
  CudnnPlan(Descriptor plan, size_t workspace, std::string name, bool bias)
      : plan_(std::move(plan)), workspace_(workspace), name_(std::move(name)), bias_(bias) {}

  size_t workspace() const override { return workspace_; }
  std::string name() const override { return name_; }
  void run(const Device& device, void* x, void* w, void* y, void* bias,
           void* workspace) const override;
  // As run, but says whether it could.
  cudnnStatus_t execute(cudnnHandle_t handle, void* x, void* w, void* y, void* bias,
                        void* workspace) const;

 private:
  Descriptor plan_;
  size_t workspace_;
  std::string name_;
  bool bias_;
};

using PlanPointer = std::shared_ptr<const CudnnPlan>;

// What cuDNN's heuristic proposes for a convolution, in its order. Asking takes about 12 ms, and 0.4 s the first time in a process; some plans are
// compiled when they are made, in up to a second: so they are made one by one.
class CudnnCandidates {
 public:
  // Empty where cuDNN does not support the convolution.
  CudnnCandidates(const ConvKey& key, cudnnHandle_t handle);

  size_t size() const { return configs_.size(); }
  // Adds what always works behind them; returns where it begins.
  size_t add_fallback();
  // Place among the candidates, engine and settings, "0 62 1=3 7=0": enough for known_cudnn_plan.
  std::string text(size_t index) const;
  // Null when it cannot run here, or needs too much memory.
  PlanPointer make(size_t index) const;

 private:
  void ask(cudnnBackendHeurMode_t mode);

  ConvKey key_;
  cudnnHandle_t handle_;
  std::optional<Operations> operations_;
  std::vector<Descriptor> configs_;  // usable ones: right in their rounding and their repeatability
  std::vector<int64_t> engines_;
};

// The plan that a candidate's text() names, without asking the heuristic. Null where it cannot be
// made so: an engine without settings, or text of another library.
PlanPointer known_cudnn_plan(const ConvKey& key, cudnnHandle_t handle, const std::string& text);

}  // namespace stoker::cuda
