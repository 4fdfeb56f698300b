// Attention by cuDNN 9: its graph of two products with a softmax between them, run as one kernel that
// never writes the scores. Tensors lie as the op has them, [batch, length, heads, dim], so that nothing
// is transposed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/conv_descriptors.h"

namespace stoker::cuda {

struct AttentionKey {
  bool backward = false;
  DType dtype = DType::bfloat16;
  int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, dim = 0;
  int64_t q_pitch = 0, k_pitch = 0, v_pitch = 0;  // as AttentionCall's
  int64_t out_pitch = 0;
  bool causal = false;
  bool deterministic = true;  // backward only
  float scale = 1;
  std::string text() const;  // unique per key, and readable
};

// The operands of one call. Forward: q, k, v, out and lse. Backward: all.
struct AttentionOperands {
  const void *q = nullptr, *k = nullptr, *v = nullptr, *dout = nullptr;
  void *out = nullptr, *lse = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
};

class AttentionPlan {
 public:
  AttentionPlan(Descriptor plan, std::vector<int64_t> ids, float scale, size_t library_workspace,
                std::vector<size_t> extra, std::string name);

  // Bytes, of the library and of what its graph keeps between its steps.
  size_t workspace() const { return workspace_; }
  const std::string& name() const { return name_; }  // "cudnn:engine 4"
  cudnnStatus_t run(cudnnHandle_t handle, const AttentionOperands& operands, void* workspace) const;

 private:
  Descriptor plan_;
  std::vector<int64_t> ids_;
  float scale_, lowest_, one_ = 1;
  std::vector<size_t> extra_;  // places in the workspace
  size_t workspace_;
  std::string name_;
};

// In the heuristic's order; empty where cuDNN does not support it. At most `most`.
std::vector<std::shared_ptr<const AttentionPlan>> attention_candidates(const AttentionKey& key,
                                                                       cudnnHandle_t handle,
                                                                       size_t most);

class AttentionPlans {
 public:
  // Null where cuDNN has none; the answer is kept.
  std::shared_ptr<const AttentionPlan> find(const AttentionKey& key, cudnnHandle_t handle);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const AttentionPlan>> plans_;
};

}  // namespace stoker::cuda
