#include "engine/cuda/conv_plan.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/tracing.h"
#include "engine/cuda/conv_trial.h"

namespace stoker::cuda {

namespace {

double flops(const ConvShape& s) {
  int depth = s.channels / s.groups;
  return 2.0 * s.batch * s.out_height * s.out_width * s.filters * depth * s.kernel_y * s.kernel_x;
}

constexpr size_t kCandidates = 8, kCandidatesOfSmall = 24;
constexpr double kWorthTiming = 20e6;  // FLOPs; below, any plan takes microseconds
constexpr double kSmall = 1e10;        // dozens of such plans are timed in 30 milliseconds
constexpr double kTrialSeconds = 1.5;  // of a process, for what no earlier one has tried

size_t candidates_for(double work) {
  return work < kWorthTiming ? 1 : work < kSmall ? kCandidatesOfSmall : kCandidates;
}

std::optional<size_t> index_of(const CudnnCandidates& candidates, const std::string& text) {
  for (size_t index = 0; index < candidates.size(); ++index)
    if (candidates.text(index) == text) return index;
  return std::nullopt;
}

const Tried* fastest_of(const std::vector<Tried>& tried) {
  const Tried* best = nullptr;
  for (const Tried& each : tried)
    if (each.ms && (best == nullptr || *each.ms < *best->ms)) best = &each;
  return best;
}

struct Planned {
  ConvKey key;
  std::shared_ptr<const ConvPlan> plan;
};

// The fastest beside another, of those that are about as fast as the fastest alone.
const Tried* fastest_beside(const Planned& other, const std::shared_ptr<DevicePool>& pool,
                            const std::vector<Tried>& alone, const ConvTrial& trial) {
  constexpr float kAsFast = 1.05F;
  if (other.plan == nullptr) return nullptr;
  std::optional<ConvTrial> beside = ConvTrial::make(other.key, pool, other.plan->workspace());
  if (!beside) return nullptr;
  float least = *fastest_of(alone)->ms, best = 0;
  const Tried* found = nullptr;
  for (const Tried& each : alone) {
    if (!each.ms || *each.ms > kAsFast * least) continue;
    std::optional<float> both = trial.time_beside(*each.plan, *beside, *other.plan);
    if (both && (found == nullptr || *both < best)) found = &each, best = *both;
  }
  return found;
}

// Where memory is so short that nothing can be tried, the program says what it needs, not the
// trial: it is planned with what needs least, and the choice is not written down.
PlanPointer least_workspace(CudnnCandidates& candidates, size_t most) {
  PlanPointer least;
  auto look = [&](size_t from, size_t to) {
    for (size_t index = from; index < to; ++index)
      if (PlanPointer plan = candidates.make(index))
        if (least == nullptr || plan->workspace() < least->workspace()) least = plan;
  };
  look(0, std::min(most, candidates.size()));
  if (least == nullptr) look(candidates.add_fallback(), candidates.size());
  return least;
}

}  // namespace

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

ConvPlans::Plan ConvPlans::find(const ConvKey& key, const std::shared_ptr<DevicePool>& pool) {
  std::lock_guard lock(mutex_);
  return get(key, pool);
}

void ConvPlans::forget() {
  std::lock_guard lock(mutex_);
  plans_.clear();
}

ConvPlans::Plan ConvPlans::get(const ConvKey& key, const std::shared_ptr<DevicePool>& pool) {
  if (auto known = plans_.find(key.text()); known != plans_.end()) return known->second;
  Plan plan = choose(key, pool);
  plans_.emplace(key.text(), plan);
  return plan;
}

// For one so small that any plan will do, or that only the last candidates can compute.
ConvPlans::Plan ConvPlans::first_of(const ConvKey& key, const CudnnCandidates& candidates,
                                    size_t from) {
  for (size_t index = from; index < candidates.size(); ++index)
    if (PlanPointer plan = candidates.make(index)) {
      choices_.add(key.text(), {candidates.text(index)});
      return plan;
    }
  return nullptr;
}

ConvPlans::Plan ConvPlans::choose(const ConvKey& key, const std::shared_ptr<DevicePool>& pool) {
  std::optional<PlanChoices::Choice> known = choices_.find(key.text());
  if (known && known->tried == 0)
    if (PlanPointer plan = known_cudnn_plan(key, pool->device().cudnn(), known->plan)) return plan;
  CudnnCandidates candidates(key, pool->device().cudnn());
  size_t most = candidates_for(flops(key.shape));
  std::optional<size_t> chosen = known ? index_of(candidates, known->plan) : std::nullopt;
  if (chosen && known->tried == 0)
    if (PlanPointer plan = candidates.make(*chosen)) return plan;
  if (most == 1) {
    Plan plan = first_of(key, candidates, 0);
    return plan != nullptr ? plan : first_of(key, candidates, candidates.add_fallback());
  }
  TraceScope trace("cuDNN: trials");
  std::optional<ConvTrial> trial = ConvTrial::make(key, pool, 0);
  if (!trial) return least_workspace(candidates, most);
  std::vector<Tried> tried;
  size_t next = chosen ? known->tried : 0;
  try_plans(candidates, *trial, chosen, most, tried, next);
  bool all = next == candidates.size() || tried.size() >= most;
  const Tried* best = fastest_of(tried);
  if (best == nullptr) return first_of(key, candidates, candidates.add_fallback());
  // Small steps run a layer's two gradients side by side. Weight gradients that take the same time
  // alone differ by a third there.
  if (key.kind == ConvKind::weight_grad && most == kCandidatesOfSmall && all) {
    ConvKey other = key;
    other.kind = ConvKind::input_grad;
    if (const Tried* beside = fastest_beside({other, get(other, pool)}, pool, tried, *trial))
      best = beside;
  }
  choices_.add(key.text(), {candidates.text(best->index), all ? 0 : next});
  return best->plan;
}

// What an earlier process chose for want of time stands against those that it had no time for. That
// is done in one go, so that choices are final from the third process on.
void ConvPlans::try_plans(const CudnnCandidates& candidates, ConvTrial& trial,
                          std::optional<size_t> chosen, size_t most, std::vector<Tried>& tried,
                          size_t& next) {
  auto time = [&](size_t index) {
    const Tried* best = fastest_of(tried);
    PlanPointer plan = candidates.make(index);
    if (plan == nullptr) return;
    std::optional<float> ms = trial.time(*plan, best != nullptr ? best->ms : std::nullopt);
    tried.push_back({index, std::move(plan), ms});
  };
  int64_t begin = steady_clock().now();
  auto spent = [&] { return trial_seconds_ + double(steady_clock().now() - begin) * 1e-9; };
  if (chosen) time(*chosen);
  for (; next < candidates.size() && tried.size() < most; ++next) {
    if (!chosen && fastest_of(tried) != nullptr && spent() > kTrialSeconds) break;
    time(next);
  }
  if (!chosen) trial_seconds_ = spent();
}

}  // namespace stoker::cuda
