#include "engine/cuda/conv_plan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "engine/cuda/conv_descriptors.h"

namespace stoker::cuda {

namespace {

// --- plans ---

class CudnnPlan final : public ConvPlan {
 public:
  CudnnPlan(Descriptor plan, size_t workspace, int64_t engine, bool bias)
      : plan_(std::move(plan)), workspace_(workspace), engine_(engine), bias_(bias) {}

  size_t workspace() const override { return workspace_; }
  std::string name() const override { return fmt::format("cudnn:engine {}", engine_); }

  void run(const Device& device, void* x, void* w, void* y, void* bias,
           void* workspace) const override {
    check(execute(device.cudnn(), x, w, y, bias, workspace), "a cuDNN convolution");
  }

  cudnnStatus_t execute(cudnnHandle_t handle, void* x, void* w, void* y, void* bias,
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

 private:
  Descriptor plan_;
  size_t workspace_;
  int64_t engine_;
  bool bias_;
};

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

using PlanPointer = std::shared_ptr<const CudnnPlan>;

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

// --- choice ---

double flops(const ConvShape& s) {
  int depth = s.channels / s.groups;
  return 2.0 * s.batch * s.out_height * s.out_width * s.filters * depth * s.kernel_y * s.kernel_x;
}

struct Trial {
  DeviceBlock x, w, y, bias, workspace;
  Trial(const ConvKey& key, const std::shared_ptr<DevicePool>& pool, size_t workspace_bytes)
      : x(pool,
          elements(key.shape.batch, key.shape.height, key.shape.width, key.shape.channels) *
              size_of(key.dtype),
          "a trial"),
        w(pool,
          elements(key.shape.kernel_y, key.shape.kernel_x, key.shape.channels / key.shape.groups,
                   key.shape.filters) *
              size_of(key.dtype),
          "a trial"),
        y(pool,
          elements(key.shape.batch, key.shape.out_height, key.shape.out_width, key.shape.filters) *
              sizeof(float),
          "a trial"),
        bias(pool, size_t(key.shape.filters) * size_of(key.dtype), "a trial"),
        workspace(pool, workspace_bytes, "a trial") {}

  static size_t elements(int64_t a, int64_t b, int64_t c, int64_t d) {
    return size_t(a * b * c * d);
  }

  bool run(const Device& device, const CudnnPlan& plan) const {
    return plan.execute(device.cudnn(), x.data(), w.data(), y.data(), bias.data(),
                        workspace.data()) == CUDNN_STATUS_SUCCESS;
  }
};

// Nothing where it does not fit.
std::optional<Trial> make_trial(const ConvKey& key, const std::shared_ptr<DevicePool>& pool,
                                size_t workspace) {
  try {
    return std::optional<Trial>(std::in_place, key, pool, workspace);
  } catch (const OutOfMemoryError&) {
    return std::nullopt;
  }
}

constexpr size_t kCandidates = 8, kCandidatesOfSmall = 24;
constexpr double kWorthTiming = 20e6;  // FLOPs; below, any plan takes microseconds
constexpr double kSmall = 1e10;        // dozens of such plans are timed in 30 milliseconds

// Milliseconds of `run`, the least of five.
template <class Run>
float time_runs(const Device& device, Run run) {
  Event begin(Event::Timing::on), end(Event::Timing::on);
  float best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    begin.record(device.stream());
    run();
    end.record(device.stream());
    end.wait();
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "timing a plan");
    best = repeat == 0 ? ms : std::min(best, ms);
  }
  return best;
}

// The plan `times` times, captured; null where it cannot be.
std::unique_ptr<CapturedGraph> capture_runs(const Device& device, const Trial& trial,
                                            const CudnnPlan& plan, int times) {
  check(cudaStreamBeginCapture(device.stream(), cudaStreamCaptureModeThreadLocal), "a trial");
  bool ran = true;
  for (int i = 0; i < times; ++i) ran = ran && trial.run(device, plan);
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(device.stream(), &graph) == cudaSuccess && ran)
    return std::make_unique<CapturedGraph>(graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  return nullptr;
}

// Milliseconds of one run; nothing when it cannot run. A short plan is timed as it will be run,
// from a captured graph: else the host's launches would be timed.
std::optional<float> time_plan(const Device& device, const Trial& trial, const CudnnPlan& plan) {
  constexpr int kRuns = 2, kCaptured = 10;
  constexpr float kShort = 0.1F;  // milliseconds
  if (!trial.run(device, plan)) return std::nullopt;
  float ms = time_runs(device,
                       [&] {
                         for (int i = 0; i < kRuns; ++i) trial.run(device, plan);
                       }) /
             kRuns;
  if (ms > kShort) return ms;
  auto captured = capture_runs(device, trial, plan, kCaptured);
  if (captured == nullptr) return ms;
  captured->launch(device.stream());
  return time_runs(device, [&] { captured->launch(device.stream()); }) / kCaptured;
}

// How a plan is named in the file: its engine, and which of the candidates it was.
std::string choice_text(const CudnnPlan& plan, size_t index) {
  return fmt::format("{} {}", index, plan.name());
}

std::shared_ptr<const ConvPlan> choose(const ConvKey& key, const std::shared_ptr<DevicePool>& pool,
                                       PlanChoices& choices) {
  const Device& device = pool->device();
  std::optional<Operations> operations = describe(key, device.cudnn());
  if (!operations) return nullptr;
  std::vector<PlanPointer> plans;
  double work = flops(key.shape);
  size_t most = work < kWorthTiming ? 1 : work < kSmall ? kCandidatesOfSmall : kCandidates;
  add_plans(key, device.cudnn(), *operations, CUDNN_HEUR_MODE_A, most, plans);
  if (plans.empty())
    add_plans(key, device.cudnn(), *operations, CUDNN_HEUR_MODE_FALLBACK, 1, plans);
  if (plans.empty()) return nullptr;
  std::optional<std::string> known = most > 1 ? choices.find(key.text()) : std::nullopt;
  for (size_t i = 0; known && i < plans.size(); ++i)
    if (choice_text(*plans[i], i) == *known) return plans[i];
  size_t workspace = 0;
  for (const PlanPointer& plan : plans) workspace = std::max(workspace, plan->workspace());
  std::optional<Trial> trial = make_trial(key, pool, workspace);
  // Where memory is that short, the program says what it needs, not the trial: it is planned with
  // the plan that needs least, and the choice is not written down.
  if (!trial)
    return *std::ranges::min_element(plans, {},
                                     [](const PlanPointer& plan) { return plan->workspace(); });
  std::optional<size_t> best;
  float least = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    std::optional<float> ms = time_plan(device, *trial, *plans[i]);
    if (!ms || (best && *ms >= least)) continue;
    best = i;
    least = *ms;
  }
  if (!best) return nullptr;
  if (most > 1) choices.add(key.text(), choice_text(*plans[*best], *best));
  return plans[*best];
}

std::string cache_folder() {
  if (const char* own = std::getenv("STOKER_CONV_PLANS")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return std::string(cache) + "/stoker";
  if (const char* home = std::getenv("HOME")) return std::string(home) + "/.cache/stoker";
  return "";
}

}  // namespace

PlanChoices::PlanChoices(const std::string& fingerprint) {
  std::string folder = cache_folder();
  if (folder.empty()) return;
  std::string name = fingerprint;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  // The number: choices that were made in another way do not count.
  path_ = fmt::format("{}/conv-plans-2-{}.txt", folder, name);
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);)
    if (size_t tab = line.find('\t'); tab != std::string::npos)
      choices_[line.substr(0, tab)] = line.substr(tab + 1);
}

std::optional<std::string> PlanChoices::find(const std::string& key) const {
  auto found = choices_.find(key);
  return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

void PlanChoices::add(const std::string& key, const std::string& plan) {
  choices_[key] = plan;
  if (path_.empty()) return;
  // One line at the end: processes that write at once lose nothing, and the last line counts.
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  std::ofstream(path_, std::ios::app) << key + "\t" + plan + "\n";
}

std::string ConvKey::text() const {
  const ConvShape& s = shape;
  return fmt::format(
      "{} {} x {}x{}x{}x{} y {}x{}x{} k {}x{} s {}x{} p {},{},{},{} d {}x{} g {}{}{}{}{}{}",
      kind == ConvKind::forward      ? "fwd"
      : kind == ConvKind::input_grad ? "dgrad"
                                     : "wgrad",
      stoker::name(dtype), s.batch, s.height, s.width, s.channels, s.out_height, s.out_width,
      s.filters, s.kernel_y, s.kernel_x, s.stride_y, s.stride_x, s.top, s.bottom, s.left, s.right,
      s.dilation_y, s.dilation_x, s.groups, bias ? " bias" : "", relu ? " relu" : "",
      wide ? " wide" : "", tf32 ? " tf32" : "", deterministic ? "" : " any");
}

int64_t conv_padding(DType dtype, int64_t channels, int64_t groups) {
  if (groups > 1 || dtype == DType::float32) return channels;
  return (channels + 7) / 8 * 8;
}

std::shared_ptr<const ConvPlan> ConvPlans::find(const ConvKey& key,
                                                const std::shared_ptr<DevicePool>& pool) {
  std::lock_guard lock(mutex_);
  if (auto known = plans_.find(key.text()); known != plans_.end()) return known->second;
  if (choices_ == nullptr) choices_ = std::make_unique<PlanChoices>(pool->device().fingerprint());
  std::shared_ptr<const ConvPlan> plan = choose(key, pool, *choices_);
  plans_.emplace(key.text(), plan);
  return plan;
}

}  // namespace stoker::cuda
