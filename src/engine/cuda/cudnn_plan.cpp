#include "engine/cuda/cudnn_plan.h"

#include <array>
#include <cstdio>
#include <sstream>

#include <fmt/format.h>

#include "base/tracing.h"

namespace stoker::cuda {

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
      // Winograd, FFT and 16-bit sums lose digits that the tolerance does not allow.
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

// Null where its engine rounds or repeats otherwise than the key allows.
std::optional<int64_t> usable_engine(const ConvKey& key, const Descriptor& config) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  int64_t count = 0, index = -1;
  if (cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                               &raw) != CUDNN_STATUS_SUCCESS ||
      has_unwanted_note(key, engine))
    return std::nullopt;
  cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                           &count, &index);
  return index;
}

struct Knob {
  cudnnBackendKnobType_t type;
  int64_t value;
};

// The settings of an engine that the heuristic chose; empty also where they cannot be read. cuDNN
// does not say how many there are before there is room for them.
std::vector<Knob> knobs_of(const Descriptor& config) {
  std::vector<Descriptor> choices;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i) {
    choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    raw.push_back(choices.back().get());
  }
  int64_t count = 0;
  if (cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(raw.size()), &count,
                               raw.data()) != CUDNN_STATUS_SUCCESS ||
      size_t(count) > raw.size())
    return {};
  std::vector<Knob> knobs;
  for (size_t i = 0; i < size_t(count); ++i) {
    Knob knob{};
    int64_t one = 0;
    check(cudnnBackendGetAttribute(raw[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                                   1, &one, &knob.type),
          "a setting of a plan");
    check(cudnnBackendGetAttribute(raw[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1,
                                   &one, &knob.value),
          "a setting of a plan");
    knobs.push_back(knob);
  }
  return knobs;
}

PlanPointer make_plan(const ConvKey& key, cudnnHandle_t handle, const Descriptor& config,
                      int64_t engine) {
  TraceScope trace("cuDNN: plans");
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (!plan.finalize()) return nullptr;
  int64_t count = 0, workspace = 0;
  check(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &count, &workspace),
        "a plan's workspace");
  if (workspace > kMostWorkspace) return nullptr;
  return std::make_shared<CudnnPlan>(std::move(plan), size_t(workspace),
                                     fmt::format("cudnn:engine {}", engine), key.bias);
}

}  // namespace

CudnnCandidates::CudnnCandidates(const ConvKey& key, cudnnHandle_t handle)
    : key_(key), handle_(handle), operations_(describe(key, handle)) {
  if (operations_) ask(CUDNN_HEUR_MODE_A);
}

size_t CudnnCandidates::add_fallback() {
  size_t begin = size();
  if (operations_) ask(CUDNN_HEUR_MODE_FALLBACK);
  return begin;
}

void CudnnCandidates::ask(cudnnBackendHeurMode_t mode) {
  TraceScope trace("cuDNN: queries");
  for (Descriptor& config : proposed_configs(*operations_, mode))
    if (std::optional<int64_t> engine = usable_engine(key_, config)) {
      engines_.push_back(*engine);
      configs_.push_back(std::move(config));
    }
}

std::string CudnnCandidates::text(size_t index) const {
  std::string text = fmt::format("{} {}", index, engines_[index]);
  for (Knob knob : knobs_of(configs_[index]))
    text += fmt::format(" {}={}", int(knob.type), knob.value);
  return text;
}

PlanPointer CudnnCandidates::make(size_t index) const {
  return make_plan(key_, handle_, configs_[index], engines_[index]);
}

PlanPointer known_cudnn_plan(const ConvKey& key, cudnnHandle_t handle, const std::string& text) {
  std::istringstream words(text);
  int64_t place = -1, index = -1;
  words >> place >> index;
  std::vector<Descriptor> choices;
  for (std::string word; words >> word;) {
    Knob knob{};
    if (std::sscanf(word.c_str(), "%d=%ld", reinterpret_cast<int*>(&knob.type), &knob.value) != 2)
      return nullptr;
    choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    choices.back().set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, knob.type);
    choices.back().set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, knob.value);
    if (!choices.back().finalize()) return nullptr;
  }
  std::optional<Operations> operations = describe(key, handle);
  if (index < 0 || choices.empty() || !operations) return nullptr;
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, operations->graph);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
  if (!engine.finalize() || has_unwanted_note(key, engine)) return nullptr;
  config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& choice : choices) raw.push_back(choice.get());
  config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(raw.size()),
             raw.data());
  return config.finalize() ? make_plan(key, handle, config, index) : nullptr;
}

}  // namespace stoker::cuda
