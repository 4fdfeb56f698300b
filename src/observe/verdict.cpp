#include "observe/verdict.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "observe/words.h"

namespace stoker {

namespace {

constexpr int64_t kLeastSteps = 50;
constexpr double kMostVariation = 0.20;
constexpr double kInputHigh = 0.20, kInputModerate = 0.05;
constexpr double kReady = 0.95, kLongWaitNs = 50'000, kLateShare = 0.8;
constexpr double kCopy = 0.05, kCopyOfInput = 0.30;
constexpr double kProof = 0.5;  // of what copies are said to take: gone in the step without them
constexpr double kLaunchHigh = 0.15, kLaunchModerate = 0.03;
constexpr double kSync = 0.05;
constexpr double kLost = 0.10, kHeld = 0.20;
constexpr double kBusy = 0.70, kIdle = 0.50;
constexpr double kBlocked = 0.50, kSaturated = 0.90, kWorkersBusy = 0.85;
constexpr double kThrottled = 0.03;
// The training thread was ready to run for so much of the step while others used so many cores.
constexpr double kRunDelay = 0.10, kOtherCores = 0.5;
constexpr double kOwnCores = 0.8;  // of the cores, used by this process alone

bool ready_below(const WindowFacts& window) { return window.ready_share < kReady; }

// Two of: batches are not ready; waits are long, or short but for some late batches; the pipeline
// alone is slower than the model.
bool input_is_confirmed(const WindowFacts& window, const Evidence& evidence) {
  bool long_waits = window.median_wait_ns > kLongWaitNs || window.late_share >= kLateShare;
  int signs = int(ready_below(window)) + int(long_waits);
  const CounterfactualFacts& what_if = evidence.what_if;
  if (what_if.pipeline_alone_ns && what_if.host_batch_ns)
    signs += int(*what_if.pipeline_alone_ns > *what_if.host_batch_ns);
  return signs >= 2;
}

Finding busy_device(const DeviceFacts& device) {
  double compute = device.compute_share, bandwidth = device.bandwidth_share;
  if (compute < 0 || bandwidth < 0) return Finding::healthy;  // nobody has timed the layers
  if (bandwidth >= kBusy && compute < kIdle) return Finding::memory;
  if (compute >= kBusy && bandwidth < kIdle) return Finding::compute;
  if (compute < kIdle && bandwidth < kIdle) return Finding::latency;
  return Finding::mixed;
}

// Of a step: computing that is not there while the pipeline is paused. Only where the device is the
// host, and no more than the pipeline's threads have worked meanwhile.
double lost_to_pipeline(const Evidence& evidence) {
  bool beside = evidence.pipeline.workers > 0 && !evidence.device.gpu;
  if (!beside || !evidence.what_if.host_batch_ns || evidence.step_ns <= 0) return 0;
  double computing = evidence.total().shares()[Owner::compute] * evidence.step_ns;
  double lost = std::min(computing - *evidence.what_if.host_batch_ns, evidence.pipeline.cpu_ns);
  return std::max(0.0, lost / evidence.step_ns);
}

}  // namespace

double host_ns(const DeviceFacts& device) {
  double sum = 0;
  for (const OpFacts& op : device.ops)
    if (op.host) sum += op.ns;
  return sum;
}

// A callback that waits for the device, or a layer on the host, lets it run dry: every call and
// every copy then comes too late, and that is its fault, too.
bool host_holds(const Evidence& evidence, const StepShares& share) {
  double callbacks = 0;
  for (const CallbackFacts& callback : evidence.callbacks) callbacks += callback.ns;
  double held = share[Owner::sync];
  if (evidence.step_ns > 0) held = std::max(held, callbacks / evidence.step_ns);
  return held >= kHeld && held >= share[Owner::copy];
}

namespace {

// A copy that is late for another reason, as a batch that came late itself, is no cause: then the
// same batch takes as long with its copy as without. Where nobody has tried, it counts.
bool copies_are_proven(const Evidence& evidence, double share) {
  const CounterfactualFacts& what_if = evidence.what_if;
  if (!what_if.host_batch_ns || !what_if.device_batch_ns) return true;
  double gained = *what_if.host_batch_ns - *what_if.device_batch_ns;
  return gained >= kProof * share * evidence.step_ns;
}

// Rules 2 to 7.
Finding finding_of(const WindowFacts& window, const Evidence& evidence) {
  StepShares share = window.accounting.shares();
  double input = share[Owner::input], copy = share[Owner::copy];
  if (input >= kInputModerate && input_is_confirmed(window, evidence)) return Finding::input;
  double sync = share[Owner::sync];
  if (host_holds(evidence, share)) {
    if (sync + copy + share[Owner::launch] >= kSync) return Finding::sync;
  } else {
    if (copy >= kCopy && copy >= kCopyOfInput * (input + copy) && copies_are_proven(evidence, copy))
      return Finding::copy;
    if (share[Owner::launch] >= kLaunchModerate) return Finding::launch;
    if (sync >= kSync) return Finding::sync;
  }
  if (lost_to_pipeline(evidence) >= kLost) return Finding::input;
  return busy_device(evidence.device);
}

// What two of three windows say; nothing where all differ.
std::optional<Finding> agreed(const Evidence& evidence) {
  std::map<Finding, size_t> votes;
  for (const WindowFacts& window : evidence.windows)
    if (++votes[finding_of(window, evidence)] * 2 > evidence.windows.size())
      return finding_of(window, evidence);
  return std::nullopt;
}

Limit limit_word(Finding finding, const DeviceFacts& device) {
  switch (finding) {
    case Finding::input:
      return Limit::input;
    case Finding::copy:
      return Limit::copy;
    case Finding::launch:
      return Limit::launch;
    case Finding::sync:
      return Limit::sync;
    case Finding::memory:
      return Limit::memory;
    case Finding::compute:
      return Limit::compute;
    case Finding::latency:
      return Limit::latency;
    case Finding::mixed:
      return device.compute_share >= device.bandwidth_share ? Limit::compute : Limit::memory;
    case Finding::unstable:
    case Finding::health:
    case Finding::healthy:
      return Limit::none;
  }
  return Limit::none;
}

// --- health ---

void look_at_health(const Evidence& evidence, Verdict& verdict) {
  const HealthFacts& health = evidence.health;
  auto found = [&](Cause cause, std::string text) {
    if (verdict.health.empty()) verdict.cause = cause;
    verdict.health.push_back(std::move(text));
  };
  for (const std::string& reason : health.gpu_throttle_reasons)
    found(Cause::throttled, fmt::format("the GPU is slowed down: {}", reason));
  if (health.throttled_share >= kThrottled)
    found(Cause::quota,
          fmt::format("the container's CPU quota of {:.1f} cores held this process back for {} of "
                      "the time",
                      health.quota_cores, percent(health.throttled_share)));
  bool narrow = health.pcie_width > 0 && health.pcie_width < health.pcie_width_max;
  bool slow = health.pcie_generation > 0 && health.pcie_generation < health.pcie_generation_max;
  if (narrow || slow)
    found(Cause::bus,
          fmt::format("the GPU's bus runs as PCIe {} x{} of {} x{}", health.pcie_generation,
                      health.pcie_width, health.pcie_generation_max, health.pcie_width_max));
  if (health.run_delay_share >= kRunDelay && health.other_cores >= kOtherCores)
    found(Cause::cpu_contention,
          fmt::format("other programs use {:.1f} of {:.0f} cores; the training thread had to wait "
                      "for a core {} of the time",
                      health.other_cores, health.available_cores, percent(health.run_delay_share)));
}

// Where steps vary too much to say more: threads of this process that keep each other from a core.
void look_at_own_threads(const HealthFacts& health, Verdict& verdict) {
  double delay = std::max(health.run_delay_share, health.pipeline_delay_share);
  if (delay < kRunDelay || health.process_cores < kOwnCores * health.available_cores) return;
  verdict.cause = Cause::pipeline_threads;
  verdict.health.push_back(fmt::format(
      "the threads of the step and of the pipeline want more than the {:.0f} cores: those of the "
      "step waited for one {} of the time, those of the pipeline {}",
      health.available_cores, percent(health.run_delay_share),
      percent(health.pipeline_delay_share)));
}

// --- causes ---

const StageFacts* slowest(const PipelineFacts& pipeline) {
  auto found = std::ranges::max_element(pipeline.stages, {}, &StageFacts::ns);
  return found == pipeline.stages.end() ? nullptr : &*found;
}

// How long the pipeline alone needs for a batch: measured, or from the work of its workers.
double alone_ns(const Evidence& evidence) {
  if (evidence.what_if.pipeline_alone_ns) return *evidence.what_if.pipeline_alone_ns;
  return evidence.pipeline.work_ns / std::max(1.0, evidence.pipeline.workers);
}

// A step without waiting for input.
double fed_ns(const Evidence& evidence) {
  if (evidence.what_if.host_batch_ns) return *evidence.what_if.host_batch_ns;
  return evidence.step_ns * (1 - evidence.total().shares()[Owner::input]);
}

Cause input_cause(const Evidence& evidence) {
  const PipelineFacts& pipeline = evidence.pipeline;
  if (!pipeline.known) return Cause::none;
  if (evidence.total().shares()[Owner::input] < kInputModerate) return Cause::pipeline_threads;
  bool fast_enough = alone_ns(evidence) <= fed_ns(evidence);
  if (pipeline.workers == 0 && fast_enough) return Cause::no_prefetch;
  const StageFacts* stage = slowest(pipeline);
  if (fast_enough && lost_to_pipeline(evidence) >= kLost) return Cause::pipeline_threads;
  if (fast_enough) {
    double busy = evidence.health.process_cores / std::max(1.0, evidence.health.available_cores);
    return busy >= kSaturated ? Cause::cpu_saturated : Cause::jitter;
  }
  // Waiting for a core that others hold is no waiting for storage.
  double delayed = evidence.health.pipeline_delay_share;
  if (stage != nullptr && stage->cpu_share >= 0 && 1 - stage->cpu_share - delayed >= kBlocked)
    return Cause::storage;
  double cores = std::max(1.0, evidence.health.available_cores);
  if (evidence.health.process_cores >= kSaturated * cores) return Cause::cpu_saturated;
  bool spare = pipeline.workers < cores;
  bool all_busy = pipeline.workers == 0 || pipeline.busy_share >= kWorkersBusy;
  if (spare && all_busy) return Cause::parallelism;
  return spare ? Cause::jitter : Cause::cpu_saturated;
}

Cause copy_cause(const DeviceFacts& device) {
  double rate = device.copy_ns > 0 ? device.copy_bytes / device.copy_ns * 1e9 : 0;
  if (device.link_bandwidth > 0 && rate >= kBusy * device.link_bandwidth) return Cause::link;
  return device.pinned ? Cause::small_copies : Cause::pageable;
}

const OpFacts* first_host_op(const Evidence& evidence) {
  for (const OpFacts& op : evidence.device.ops)
    if (op.host) return &op;
  return nullptr;
}

// Which of callbacks and host layers takes the larger part.
void find_sync_culprit(const Evidence& evidence, Verdict& verdict) {
  const OpFacts* op = first_host_op(evidence);
  double layer_ns = op != nullptr ? host_ns(evidence.device) : 0;
  auto callback = std::ranges::max_element(evidence.callbacks, {}, &CallbackFacts::ns);
  double callback_ns = callback != evidence.callbacks.end() ? callback->ns : 0;
  if (op != nullptr && layer_ns >= callback_ns) {
    verdict.cause = Cause::host_layer;
    verdict.culprit = op->layer.empty() ? op->op : op->layer;
  } else if (callback_ns > 0) {
    verdict.cause = Cause::callback;
    verdict.culprit = callback->name;
  } else {
    verdict.cause = Cause::read_back;
  }
}

}  // namespace

// What the optimiser does is done for the weights of layers.
std::pair<std::string, double> busiest_layer(const DeviceFacts& device) {
  std::map<std::string, double> shares;
  for (const OpFacts& op : device.ops)
    if (op.layer != "optimizer" && op.layer != "loss")
      shares[op.layer.empty() ? op.op : op.layer] += op.share;
  auto most = std::ranges::max_element(shares, {}, [](const auto& each) { return each.second; });
  if (most == shares.end()) return {};
  return *most;
}

namespace {

void find_cause(Finding finding, const Evidence& evidence, Verdict& verdict) {
  StepShares share = evidence.total().shares();
  verdict.cause = Cause::none;
  switch (finding) {
    case Finding::input: {
      verdict.high = share[Owner::input] >= kInputHigh;
      verdict.cause = input_cause(evidence);
      const StageFacts* stage = slowest(evidence.pipeline);
      if (stage != nullptr) verdict.culprit = stage->name;
      return;
    }
    case Finding::copy:
      verdict.cause = copy_cause(evidence.device);
      return;
    case Finding::launch: {
      verdict.high = share[Owner::launch] >= kLaunchHigh;
      bool contended = evidence.health.run_delay_share >= kRunDelay;
      verdict.cause = contended ? Cause::cpu_contention : Cause::many_small_ops;
      return;
    }
    case Finding::sync:
      find_sync_culprit(evidence, verdict);
      return;
    case Finding::latency:
      verdict.cause = Cause::small_batch;
      return;
    case Finding::memory:
    case Finding::compute:
    case Finding::mixed:
      verdict.culprit = busiest_layer(evidence.device).first;
      return;
    default:
      return;
  }
}

// Steps that vary because the pipeline takes their cores have their explanation.
bool is_stable(const Evidence& evidence) {
  bool explained = lost_to_pipeline(evidence) >= kLost;
  return evidence.steady_steps >= kLeastSteps &&
         (evidence.variation <= kMostVariation || explained);
}

}  // namespace

Accounting Evidence::total() const {
  Accounting sum;
  for (const WindowFacts& window : windows) {
    for (size_t i = 0; i < kOwners; ++i) sum.ns[i] += window.accounting.ns[i];
    sum.wall += window.accounting.wall;
    sum.steps += window.accounting.steps;
  }
  return sum;
}

bool wants_sixteen_bits(const DeviceFacts& device) {
  return device.gpu && device.tensor_cores && !device.sixteen_bit;
}

Limit limit_of(const Evidence& evidence) {
  if (!is_stable(evidence)) return Limit::none;
  return limit_word(agreed(evidence).value_or(Finding::unstable), evidence.device);
}

Verdict judge(const Evidence& evidence) {
  Verdict verdict;
  look_at_health(evidence, verdict);
  std::optional<Finding> finding = agreed(evidence);
  if (!is_stable(evidence) || !finding) {
    if (verdict.health.empty()) look_at_own_threads(evidence.health, verdict);
    bool explained = verdict.cause == Cause::cpu_contention ||
                     verdict.cause == Cause::pipeline_threads ||
                     verdict.cause == Cause::throttled || verdict.cause == Cause::quota;
    verdict.finding =
        explained && evidence.steady_steps >= kLeastSteps ? Finding::health : Finding::unstable;
  } else {
    verdict.limit = limit_word(*finding, evidence.device);
    verdict.finding = verdict.health.empty() ? *finding : Finding::health;
    Cause of_health = verdict.cause;
    find_cause(*finding, evidence, verdict);
    verdict.limit_cause = verdict.cause;
    if (verdict.finding == Finding::health) verdict.cause = of_health;
  }
  if (wants_sixteen_bits(evidence.device))
    verdict.hints.emplace_back(
        "products are computed in float32 on a GPU with tensor cores; the policy mixed_bfloat16 is "
        "several times faster, with results that differ in the last digits");
  if (evidence.health.gpu_power_limit > 0)
    verdict.hints.push_back(fmt::format(
        "the GPU works at its power limit of {:.0f} W, with clocks below their highest: it cannot "
        "compute harder",
        evidence.health.gpu_power_limit));
  verdict.sentence = sentence_of(verdict, evidence);
  return verdict;
}

}  // namespace stoker
