#include "engine/cuda/conv_trial.h"

#include <algorithm>

namespace stoker::cuda {

namespace {

constexpr int kCaptured = 10;  // runs in a captured graph

size_t elements(int64_t a, int64_t b, int64_t c, int64_t d) { return size_t(a * b * c * d); }

constexpr int kRepeats = 5;

// Milliseconds of `run`, the least of so many.
template <class Run>
float time_runs(const Device& device, int repeats, Run run) {
  Event begin(Event::Timing::on), end(Event::Timing::on);
  float best = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
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

// Milliseconds of what `issue` puts on the stream, from a captured graph of many; nothing where it
// cannot be captured.
template <class Issue>
std::optional<float> time_captured(const Device& device, Issue issue) {
  check(cudaStreamBeginCapture(device.stream(), cudaStreamCaptureModeThreadLocal), "a trial");
  bool ran = true;
  for (int i = 0; i < kCaptured; ++i) ran = ran && issue();
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(device.stream(), &graph) != cudaSuccess || !ran) {
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    return std::nullopt;
  }
  CapturedGraph captured(graph);
  captured.launch(device.stream());
  return time_runs(device, kRepeats, [&] { captured.launch(device.stream()); }) / kCaptured;
}

}  // namespace

ConvTrial::ConvTrial(const ConvKey& key, const std::shared_ptr<DevicePool>& pool, size_t workspace)
    : pool_(pool),
      x_(pool,
         elements(key.shape.batch, key.shape.height, key.shape.width, key.shape.channels) *
             size_of(key.dtype),
         "a trial"),
      w_(pool,
         elements(key.shape.kernel_y, key.shape.kernel_x, key.shape.channels / key.shape.groups,
                  key.shape.filters) *
             size_of(key.dtype),
         "a trial"),
      y_(pool,
         elements(key.shape.batch, key.shape.out_height, key.shape.out_width, key.shape.filters) *
             sizeof(float),
         "a trial"),
      bias_(pool, size_t(key.shape.filters) * size_of(key.dtype), "a trial"),
      workspace_(pool, workspace, "a trial") {}

std::optional<ConvTrial> ConvTrial::make(const ConvKey& key,
                                         const std::shared_ptr<DevicePool>& pool,
                                         size_t workspace) {
  try {
    return ConvTrial(key, pool, workspace);
  } catch (const OutOfMemoryError&) {
    return std::nullopt;
  }
}

bool ConvTrial::run(const CudnnPlan& plan) const {
  return plan.execute(pool_->device().cudnn(), x_.data(), w_.data(), y_.data(), bias_.data(),
                      workspace_.data()) == CUDNN_STATUS_SUCCESS;
}

void ConvTrial::run_other(const ConvPlan& plan) const {
  plan.run(pool_->device(), x_.data(), w_.data(), y_.data(), bias_.data(), workspace_.data());
}

bool ConvTrial::reserve(size_t workspace) {
  if (workspace <= workspace_.bytes()) return true;
  try {
    workspace_ = DeviceBlock();  // before the next is taken
    workspace_ = DeviceBlock(pool_, workspace, "a trial");
    return true;
  } catch (const OutOfMemoryError&) {
    return false;
  }
}

std::optional<float> ConvTrial::time(const CudnnPlan& plan, std::optional<float> best) {
  constexpr int kRuns = 2;
  constexpr float kShort = 0.1F;  // milliseconds
  // Not worth a second look: so many times the best, and more than a launch by the host takes.
  constexpr float kHopeless = 1.5F, kLong = 0.3F;
  const Device& device = pool_->device();
  if (!reserve(plan.workspace()) || !run(plan)) return std::nullopt;
  float once = time_runs(device, 1, [&] { run(plan); });
  if (best && once > kLong && once > kHopeless * *best) return once;
  float ms = time_runs(device, kRepeats,
                       [&] {
                         for (int i = 0; i < kRuns; ++i) run(plan);
                       }) /
             kRuns;
  if (ms > kShort) return ms;
  std::optional<float> captured = time_captured(device, [&] { return run(plan); });
  return captured ? captured : ms;
}

std::optional<float> ConvTrial::time_beside(const CudnnPlan& plan, const ConvTrial& other,
                                            const ConvPlan& others) const {
  const Device& device = pool_->device();
  cudaStream_t lane = device.lane(1);
  Event fork, join;
  other.run_other(others);  // what a first run loads cannot be captured
  return time_captured(device, [&] {
    fork.record(device.stream());
    check(cudaStreamWaitEvent(lane, fork.get()), "opening a branch");
    check(cudnnSetStream(device.cudnn(), lane), "cuDNN's stream");
    other.run_other(others);
    check(cudnnSetStream(device.cudnn(), device.stream()), "cuDNN's stream");
    bool ran = run(plan);
    join.record(lane);
    check(cudaStreamWaitEvent(device.stream(), join.get()), "joining a branch");
    return ran;
  });
}

}  // namespace stoker::cuda
