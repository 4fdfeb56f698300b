#include "engine/cuda/attention_graph.h"

#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/tracing.h"

namespace stoker::cuda {

namespace {

std::vector<int64_t> ids_of(const AttentionKey& key) {
  std::vector<int64_t> ids = {kQuery, kKey, kValue, kOut, kLse, kScale};
  if (key.causal) ids.push_back(kLowest);
  if (!key.backward) return ids;
  ids.insert(ids.end(), {kDout, kDquery, kDkey, kDvalue, kOne, kDelta});
  if (!key.deterministic) ids.push_back(kDqueryWide);
  return ids;
}

size_t in_lines(size_t bytes) { return (bytes + 255) / 256 * 256; }

// Bytes of delta and of dq in float32, where they exist.
std::vector<size_t> extra_of(const AttentionKey& key) {
  if (!key.backward) return {};
  size_t rows = size_t(key.batch * key.heads * key.queries) * sizeof(float);
  std::vector<size_t> extra = {in_lines(rows)};
  if (!key.deterministic) extra.push_back(in_lines(rows * size_t(key.dim)));
  return extra;
}

// Whether it repeats its results, and its number.
struct EngineFacts {
  bool deterministic = true;
  int64_t index = -1;
};
EngineFacts facts_of(const Descriptor& config) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  EngineFacts facts;
  int64_t count = 0;
  if (cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                               &raw) != CUDNN_STATUS_SUCCESS)
    return {false, -1};
  cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                           &count, &facts.index);
  std::array<cudnnBackendNumericalNote_t, 32> notes{};
  if (cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                               CUDNN_TYPE_NUMERICAL_NOTE, int64_t(notes.size()), &count,
                               notes.data()) == CUDNN_STATUS_SUCCESS)
    for (int64_t i = 0; i < count; ++i)
      if (notes[size_t(i)] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) facts.deterministic = false;
  return facts;
}

}  // namespace

std::string AttentionKey::text() const {
  return fmt::format("attention{} {} {}x{}/{}x{}x{}x{} pitches {} {} {} {}{}{} scale {}",
                     backward ? " gradient" : "", name(dtype), batch, heads, kv_heads, queries,
                     keys, dim, q_pitch, k_pitch, v_pitch, out_pitch, causal ? " causal" : "",
                     deterministic ? "" : " unordered", scale);
}

AttentionPlan::AttentionPlan(Descriptor plan, std::vector<int64_t> ids, float scale,
                             size_t library_workspace, std::vector<size_t> extra, std::string name)
    : plan_(std::move(plan)),
      ids_(std::move(ids)),
      scale_(scale),
      lowest_(-std::numeric_limits<float>::infinity()),
      workspace_(in_lines(library_workspace)),
      name_(std::move(name)) {
  for (size_t bytes : extra) {
    extra_.push_back(workspace_);
    workspace_ += bytes;
  }
}

cudnnStatus_t AttentionPlan::run(cudnnHandle_t handle, const AttentionOperands& operands,
                                 void* workspace) const {
  auto address = [&](int64_t id) -> void* {
    auto* base = static_cast<char*>(workspace);
    switch (id) {
      case kQuery:
        return const_cast<void*>(operands.q);
      case kKey:
        return const_cast<void*>(operands.k);
      case kValue:
        return const_cast<void*>(operands.v);
      case kOut:
        return operands.out;
      case kLse:
        return operands.lse;
      case kDout:
        return const_cast<void*>(operands.dout);
      case kDquery:
        return operands.dq;
      case kDkey:
        return operands.dk;
      case kDvalue:
        return operands.dv;
      case kScale:
        return const_cast<float*>(&scale_);
      case kLowest:
        return const_cast<float*>(&lowest_);
      case kOne:
        return const_cast<float*>(&one_);
      case kDelta:
        return base + extra_[0];
      default:
        return base + extra_[1];
    }
  };
  std::vector<void*> data;
  for (int64_t id : ids_) data.push_back(address(id));
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, int64_t(ids_.size()), ids_.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, int64_t(data.size()),
           data.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  if (!pack.finalize()) return CUDNN_STATUS_BAD_PARAM;
  return cudnnBackendExecute(handle, plan_.get(), pack.get());
}

std::vector<std::shared_ptr<const AttentionPlan>> attention_candidates(const AttentionKey& key,
                                                                       cudnnHandle_t handle,
                                                                       size_t most) {
  TraceScope trace("cuDNN: attention");
  std::vector<std::shared_ptr<const AttentionPlan>> found;
  std::optional<Operations> operations = describe(key, handle);
  if (!operations) return found;
  for (Descriptor& config : proposed_configs(*operations, CUDNN_HEUR_MODE_A)) {
    if (found.size() == most) break;
    EngineFacts facts = facts_of(config);
    if (key.deterministic && !facts.deterministic) continue;
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (!plan.finalize()) continue;
    int64_t count = 0, workspace = 0;
    check(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                   CUDNN_TYPE_INT64, 1, &count, &workspace),
          "a plan's workspace");
    found.push_back(std::make_shared<AttentionPlan>(std::move(plan), ids_of(key), key.scale,
                                                    size_t(workspace), extra_of(key),
                                                    fmt::format("cudnn:engine {}", facts.index)));
  }
  return found;
}

std::shared_ptr<const AttentionPlan> AttentionPlans::find(const AttentionKey& key,
                                                          cudnnHandle_t handle) {
  std::lock_guard lock(mutex_);
  auto [place, is_new] = plans_.try_emplace(key.text());
  if (is_new) {
    auto candidates = attention_candidates(key, handle, 1);
    if (!candidates.empty()) place->second = candidates[0];
  }
  return place->second;
}

}  // namespace stoker::cuda
