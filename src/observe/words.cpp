#include "observe/words.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace stoker {

std::string_view name(Owner owner) {
  static constexpr std::string_view kNames[] = {"compute", "copy", "input",
                                                "launch",  "sync", "unexplained"};
  return kNames[size_t(owner)];
}

std::string_view name(Limit limit) {
  static constexpr std::string_view kNames[] = {"none", "input",  "copy",    "launch",
                                                "sync", "memory", "compute", "latency"};
  return kNames[size_t(limit)];
}

std::string_view name(Finding finding) {
  static constexpr std::string_view kNames[] = {"unstable", "health", "input",  "copy",
                                                "launch",   "sync",   "memory", "compute",
                                                "latency",  "mixed",  "healthy"};
  return kNames[size_t(finding)];
}

std::string_view name(Cause cause) {
  static constexpr std::string_view kNames[] = {
      "none",         "storage",    "cpu_saturated",    "parallelism",
      "no_prefetch",  "jitter",     "pipeline_threads", "pageable",
      "small_copies", "link",       "many_small_ops",   "cpu_contention",
      "callback",     "host_layer", "read_back",        "throttled",
      "quota",        "bus",        "small_batch",      "out_of_memory"};
  return kNames[size_t(cause)];
}

std::string_view name(Knob knob) {
  static constexpr std::string_view kNames[] = {"none", "pipeline", "cache", "page_lock",
                                                "capture"};
  return kNames[size_t(knob)];
}

std::string percent(double share) {
  double value = 100 * share;
  return fmt::format("{:.{}f} %", value, std::abs(value) < 1 && value != 0 ? 1 : 0);
}

std::string duration(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.01 ? 2 : 1);
  return fmt::format("{:.2f} s", seconds);
}

namespace {

// The proof of a verdict about copies.
std::string with_and_without_copy(const Evidence& evidence) {
  const CounterfactualFacts& what_if = evidence.what_if;
  if (!what_if.host_batch_ns || !what_if.device_batch_ns) return "";
  return fmt::format(" (one batch again and again: {} with its copy, {} without)",
                     duration(*what_if.host_batch_ns * 1e-9),
                     duration(*what_if.device_batch_ns * 1e-9));
}

std::string because(const Verdict& verdict, const Evidence& evidence) {
  const std::string& culprit = verdict.culprit;
  double cores = evidence.health.available_cores;
  switch (verdict.limit_cause) {
    case Cause::storage:
      return fmt::format("{} waits for storage more than it computes", culprit);
    case Cause::cpu_saturated:
      return fmt::format("all {:.0f} cores are busy", cores) +
             (culprit.empty() ? "" : ", most of all with " + culprit);
    case Cause::parallelism:
      return fmt::format("{} runs on {} while there are {:.0f} cores", culprit,
                         evidence.pipeline.workers == 0
                             ? std::string("the training thread itself")
                             : fmt::format("{:.0f} worker{}", evidence.pipeline.workers,
                                           evidence.pipeline.workers == 1 ? "" : "s"),
                         cores);
    case Cause::no_prefetch:
      return "no batch is made ahead: each is made while the device waits for it";
    case Cause::jitter:
      return fmt::format(
          "batches are made fast enough on average, but unevenly{}, and too few lie ready",
          culprit.empty() ? "" : " (" + culprit + ")");
    case Cause::pipeline_threads:
      return fmt::format(
          "a step computes for {}, and for {} while the pipeline is paused",
          duration(evidence.total().shares()[Owner::compute] * evidence.step_ns * 1e-9),
          duration(evidence.what_if.host_batch_ns.value_or(0) * 1e-9));
    case Cause::pageable:
      return "batches are copied from memory that is not page-locked" +
             with_and_without_copy(evidence);
    case Cause::small_copies:
      return "copies are too small to use the bus" + with_and_without_copy(evidence);
    case Cause::link:
      return "the bus is full" + with_and_without_copy(evidence);
    case Cause::many_small_ops:
      return "many small ops, each of which the host has to start";
    case Cause::callback:
      return fmt::format("the callback {} works between the steps", culprit);
    case Cause::host_layer:
      return fmt::format("the layer \"{}\" runs on the host", culprit);
    case Cause::read_back:
      return "results are read back between the steps";
    case Cause::small_batch:
      return fmt::format("a batch of {} keeps neither the arithmetic nor the memory busy",
                         evidence.batch_size);
    default:
      return "";
  }
}

std::string what_of(const Verdict& verdict, const Evidence& evidence) {
  StepShares share = evidence.total().shares();
  const char* device = evidence.device.gpu ? "GPU" : "device";
  switch (verdict.finding) {
    case Finding::input:
      if (verdict.limit_cause == Cause::pipeline_threads)
        return "Input-bound: CPU contention between pipeline and compute threads";
      return fmt::format("Input-bound: the {} waits for batches {} of the time", device,
                         percent(share[Owner::input]));
    case Finding::copy:
      return fmt::format("Copy-bound: the {} waits for copies {} of the time", device,
                         percent(share[Owner::copy]));
    case Finding::launch:
      return fmt::format("Launch-bound: the {} waits for the host to start its work {} of the time",
                         device, percent(share[Owner::launch]));
    case Finding::sync:
      return fmt::format("Held up by the host: {} of the time goes to work between the steps",
                         percent(share[Owner::sync]));
    case Finding::memory:
      return fmt::format("Memory-bound: the {} moves data at {} of its bandwidth", device,
                         percent(evidence.device.bandwidth_share));
    case Finding::compute:
      return fmt::format("Compute-bound: the {} computes at {} of its peak", device,
                         percent(evidence.device.compute_share));
    case Finding::latency:
      return fmt::format("Latency-bound: the {} reaches {} of its peak and {} of its bandwidth",
                         device, percent(evidence.device.compute_share),
                         percent(evidence.device.bandwidth_share));
    case Finding::mixed:
      return fmt::format("The {} is busy: {} of its peak, {} of its bandwidth", device,
                         percent(evidence.device.compute_share),
                         percent(evidence.device.bandwidth_share));
    case Finding::healthy:
      return fmt::format("Healthy: the {} computes {} of the time", device,
                         percent(share[Owner::compute]));
    case Finding::health:
      return verdict.health.front();
    case Finding::unstable:
      break;
  }
  if (evidence.steady_steps < 50)
    return fmt::format("Too early to say: {} steps were seen, 50 are needed",
                       evidence.steady_steps);
  if (evidence.variation > 0.2)
    return fmt::format("Unstable: the steps themselves vary by {}", percent(evidence.variation));
  return "Unstable: what limits the run changes all the time";
}

}  // namespace

std::string above_peak(std::span<const LayerReport> ops) {
  constexpr double kAll = 1.005;  // what is shown as more than 100 %
  auto count = std::ranges::count_if(ops, [](const LayerReport& op) {
    return op.compute_share > kAll || op.bandwidth_share > kAll;
  });
  if (count == 0) return "";
  return fmt::format("; {} {} above the measured peak: the peak or the count is off", count,
                     count == 1 ? "op is" : "ops are");
}

std::string sentence_of(const Verdict& verdict, const Evidence& evidence) {
  std::string text = what_of(verdict, evidence);
  if (verdict.finding == Finding::health) {
    text[0] = char(std::toupper(text[0]));
    if (verdict.limit != Limit::none)
      text += fmt::format("; what limits besides is {}", name(verdict.limit));
    std::string why = because(verdict, evidence);
    return text + (why.empty() ? "." : fmt::format(" ({}).", why));
  }
  std::string why = because(verdict, evidence);
  if (!why.empty()) text += ": " + why;
  for (const Outlier& outlier : evidence.outliers)
    if (verdict.finding == Finding::unstable && evidence.steady_steps >= 50)
      text +=
          fmt::format("{} step {} took {} ({})", &outlier == evidence.outliers.data() ? ";" : ",",
                      outlier.step + 1, duration(outlier.ns * 1e-9), name(outlier.owner));
  StepShares share = evidence.total().shares();
  text += ".";
  if (share[Owner::unexplained] > 0.03)
    text += fmt::format(" {} of the time is unexplained.", percent(share[Owner::unexplained]));
  return text;
}

}  // namespace stoker
