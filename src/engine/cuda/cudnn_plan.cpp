#include "engine/cuda/cudnn_plan.h"

#include <array>

#include <fmt/format.h>

namespace stoker::cuda {

std::string CudnnPlan::name() const { return fmt::format("cudnn:engine {}", engine_); }

void CudnnPlan::run(const Device& device, void* x, void* w, void* y, void* bias,
                    void* workspace) const {
  check(execute(device.cudnn(), x, w, y, bias, workspace), "a cuDNN convolution");
}

cudnnStatus_t CudnnPlan::execute(cudnnHandle_t handle, void* x, void* w, void* y, void* bias,
                                 void* workspace) const {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  std::array<int64_t, 4> ids = {kX, kW, kY, kBias};
  std::array<void*, 4> data = {x, w, y, bias};
  int64_t count = bias_ ? 4 : 3;
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  if (!pack.finalize()) return CUDNN_STATUS_BAD_PARAM;
  return cudnnBackendExecute(handle, plan_.get(), pack.get());
}

namespace {

constexpr int64_t kMostWorkspace = int64_t(1) << 30;

bool has_unwanted_note(const ConvKey& key, const Descriptor& engine) {
  std::array<cudnnBackendNumericalNote_t, 32> notes{};
  int64_t count = 0;
  if (cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                               CUDNN_TYPE_NUMERICAL_NOTE, int64_t(notes.size()), &count,
                               notes.data()) != CUDNN_STATUS_SUCCESS)
    return true;
  bool full_float = key.dtype == DType::float32 && !key.tf32;
  for (int64_t i = 0; i < count; ++i) switch (notes[size_t(i)]) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        if (key.deterministic) return true;
        break;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        if (full_float) return true;
        break;
      // Winograd, FFT and sums in sixteen bits lose digits that the tolerance does not allow.
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return true;
      default:
        break;
    }
  return false;
}

PlanPointer make_plan(const ConvKey& key, cudnnHandle_t handle, const Descriptor& config) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  int64_t count = 0, index = -1, workspace = 0;
  if (cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                               &raw) != CUDNN_STATUS_SUCCESS ||
      has_unwanted_note(key, engine))
    return nullptr;
  cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                           &count, &index);
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (!plan.finalize()) return nullptr;
  check(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &count, &workspace),
        "a plan's workspace");
  if (workspace > kMostWorkspace) return nullptr;
  return std::make_shared<CudnnPlan>(std::move(plan), size_t(workspace), index, key.bias);
}

// The first `most` usable plans in the order of the heuristic.
void add_plans(const ConvKey& key, cudnnHandle_t handle, const Operations& operations,
               cudnnBackendHeurMode_t mode, size_t most, std::vector<PlanPointer>& plans) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations.graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (!heuristic.finalize()) return;
  int64_t count = 0;
  cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                           CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr);
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configs.back().get());
  }
  if (count == 0 || cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                             raw.data()) != CUDNN_STATUS_SUCCESS)
    return;
  for (size_t i = 0; i < size_t(count) && plans.size() < most; ++i)
    if (PlanPointer plan = make_plan(key, handle, configs[i])) plans.push_back(std::move(plan));
}

}  // namespace

std::vector<PlanPointer> cudnn_plans(const ConvKey& key, cudnnHandle_t handle, size_t most) {
  std::vector<PlanPointer> plans;
  std::optional<Operations> operations = describe(key, handle);
  if (!operations) return plans;
  add_plans(key, handle, *operations, CUDNN_HEUR_MODE_A, most, plans);
  if (plans.empty()) add_plans(key, handle, *operations, CUDNN_HEUR_MODE_FALLBACK, 1, plans);
  return plans;
}

}  // namespace stoker::cuda
