#include "engine/cuda/conv_plan.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

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

size_t candidates_for(double work) {
  return work < kWorthTiming ? 1 : work < kSmall ? kCandidatesOfSmall : kCandidates;
}

// How a plan is named in the file: its engine, and which of the candidates it was.
std::string choice_text(const CudnnPlan& plan, size_t index) {
  return fmt::format("{} {}", index, plan.name());
}

// Of each plan; nothing of one that cannot run.
using Milliseconds = std::vector<std::optional<float>>;

std::optional<size_t> least_of(const Milliseconds& times) {
  std::optional<size_t> best;
  for (size_t i = 0; i < times.size(); ++i)
    if (times[i] && (!best || *times[i] < *times[*best])) best = i;
  return best;
}

struct Planned {
  ConvKey key;
  std::shared_ptr<const ConvPlan> plan;
};

// The fastest beside another, of those that are about as fast as the fastest alone.
std::optional<size_t> best_beside(const Planned& other, const std::shared_ptr<DevicePool>& pool,
                                  const std::vector<PlanPointer>& plans, const ConvTrial& trial,
                                  const Milliseconds& alone) {
  constexpr float kAsFast = 1.05F;
  if (other.plan == nullptr) return std::nullopt;
  std::optional<ConvTrial> beside = ConvTrial::make(other.key, pool, other.plan->workspace());
  if (!beside) return std::nullopt;
  float least = *alone[*least_of(alone)];
  Milliseconds both(plans.size());
  for (size_t i = 0; i < plans.size(); ++i)
    if (alone[i] && *alone[i] <= kAsFast * least)
      both[i] = trial.time_beside(*plans[i], *beside, *other.plan);
  return least_of(both);
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
  path_ = fmt::format("{}/conv-plans-3-{}.txt", folder, name);
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
  return get(key, pool);
}

std::shared_ptr<const ConvPlan> ConvPlans::get(const ConvKey& key,
                                               const std::shared_ptr<DevicePool>& pool) {
  if (auto known = plans_.find(key.text()); known != plans_.end()) return known->second;
  if (choices_ == nullptr) choices_ = std::make_unique<PlanChoices>(pool->device().fingerprint());
  std::shared_ptr<const ConvPlan> plan = choose(key, pool);
  plans_.emplace(key.text(), plan);
  return plan;
}

std::shared_ptr<const ConvPlan> ConvPlans::choose(const ConvKey& key,
                                                  const std::shared_ptr<DevicePool>& pool) {
  size_t most = candidates_for(flops(key.shape));
  std::vector<PlanPointer> plans = cudnn_plans(key, pool->device().cudnn(), most);
  if (plans.empty()) return nullptr;
  std::optional<std::string> known = most > 1 ? choices_->find(key.text()) : std::nullopt;
  for (size_t i = 0; known && i < plans.size(); ++i)
    if (choice_text(*plans[i], i) == *known) return plans[i];
  size_t workspace = 0;
  for (const PlanPointer& plan : plans) workspace = std::max(workspace, plan->workspace());
  std::optional<ConvTrial> trial = ConvTrial::make(key, pool, workspace);
  // Where memory is that short, the program says what it needs, not the trial: it is planned with
  // the plan that needs least, and the choice is not written down.
  if (!trial)
    return *std::ranges::min_element(plans, {},
                                     [](const PlanPointer& plan) { return plan->workspace(); });
  Milliseconds alone;
  alone.reserve(plans.size());
  for (const PlanPointer& plan : plans) alone.push_back(trial->time(*plan));
  std::optional<size_t> best = least_of(alone);
  if (!best) return nullptr;
  // Small steps run a layer's two gradients side by side. Weight gradients that take the same time
  // alone differ by a third there.
  if (key.kind == ConvKind::weight_grad && most == kCandidatesOfSmall) {
    ConvKey other = key;
    other.kind = ConvKind::input_grad;
    best = best_beside({other, get(other, pool)}, pool, plans, *trial, alone).value_or(*best);
  }
  if (most > 1) choices_->add(key.text(), choice_text(*plans[*best], *best));
  return plans[*best];
}

}  // namespace stoker::cuda
