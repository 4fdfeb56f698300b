// What to change, by what limits.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "observe/verdict.h"
#include "observe/words.h"

namespace stoker {

namespace {

constexpr double kWaitingWorkers = 16;  // as the pipeline's own limit

class Prescriber {
 public:
  Prescriber(const Verdict& verdict, const Evidence& evidence)
      : verdict_(verdict), evidence_(evidence), shares_(evidence.total().shares()) {}

  std::vector<Prescription> all() {
    if (verdict_.finding == Finding::health) for_health();
    switch (verdict_.limit) {
      case Limit::input:
        for_input();
        break;
      case Limit::copy:
        for_copy();
        break;
      case Limit::launch:
        for_launch();
        break;
      case Limit::sync:
        for_sync();
        break;
      case Limit::latency:
        for_latency();
        break;
      case Limit::memory:
      case Limit::compute:
        for_busy_device();
        break;
      case Limit::none:
        break;
    }
    return std::move(list_);
  }

 private:
  double step() const { return evidence_.step_ns * 1e-9; }
  double without(Owner owner) const { return step() * (1 - shares_[owner]); }

  void add(std::string what, std::string why, double predicted, bool changes_results,
           Knob knob = Knob::none) {
    list_.push_back({.what = std::move(what),
                     .why = std::move(why),
                     .predicted_step_seconds = predicted,
                     .changes_results = changes_results,
                     .knob = knob});
  }

  double cores() const { return std::max(1.0, evidence_.health.available_cores); }

  // A step that is fed as well as the pipeline can on all cores, with `left` of its work. Where the
  // device is the same cores the work of both has to fit on them; a GPU's steps are started, and
  // waited for, by a thread with a core of its own. Workers that only wait may be more than cores.
  double fed_with(double left) const {
    double fed = evidence_.what_if.host_batch_ns.value_or(without(Owner::input) * 1e9);
    const PipelineFacts& pipeline = evidence_.pipeline;
    double cpu = left * (pipeline.cpu_ns > 0 ? pipeline.cpu_ns : pipeline.work_ns);
    bool waits = verdict_.limit_cause == Cause::storage;
    double free = evidence_.device.gpu ? std::max(1.0, cores() - 1) : cores();
    double workers = waits ? std::max(kWaitingWorkers, free) : free;
    double needs = std::max(cpu / free, left * pipeline.work_ns / workers);
    if (!evidence_.device.gpu)
      needs = std::max(needs, (cpu + fed * std::min(evidence_.device.threads, cores())) / cores());
    return std::max(fed, needs) * 1e-9;
  }

  void for_input() {
    const PipelineFacts& pipeline = evidence_.pipeline;
    if (!pipeline.known) {
      add("Give fit a Dataset instead of single batches",
          "its stages can then be measured, made ahead and spread over the cores",
          without(Owner::input), false);
      return;
    }
    double best = fed_with(1);
    switch (verdict_.limit_cause) {
      case Cause::no_prefetch:
        add("Make batches ahead: .prefetch(AUTOTUNE), or leave as_written off",
            "each batch is made while the device computes the one before", best, false,
            Knob::pipeline);
        break;
      case Cause::jitter:
        add("Let more batches lie ready: .prefetch(AUTOTUNE)",
            fmt::format("{} batches lie ready at most, and {} took {} once", pipeline.depth,
                        verdict_.culprit.empty() ? "an element" : verdict_.culprit,
                        duration(longest() * 1e-9)),
            best, false, Knob::pipeline);
        break;
      case Cause::storage:
        add("Read more files at the same time: .map(…, {.parallel = AUTOTUNE}).prefetch(AUTOTUNE)",
            fmt::format("{} waits for storage; waiting needs no core", verdict_.culprit), best,
            false, Knob::pipeline);
        add("Pack the files into shards: stoker prepare", "one long read instead of many short",
            best, false);
        break;
      case Cause::parallelism:
        add(fmt::format("Spread {} over the cores: .map(…, {{.parallel = AUTOTUNE}})"
                        ".prefetch(AUTOTUNE)",
                        verdict_.culprit),
            fmt::format("{:.0f} cores are there", cores()), best, false, Knob::pipeline);
        break;
      default:
        break;
    }
    if (pipeline.cache.bytes > 0 && pipeline.cache.saved_ns > 0) for_cache();
    if (verdict_.limit_cause == Cause::pipeline_threads) for_pipeline_threads();
    if (verdict_.limit_cause == Cause::cpu_saturated) {
      add("Do the work once, offline: stoker prepare writes shards of finished elements",
          fmt::format("all cores are busy with {}", verdict_.culprit), without(Owner::input),
          false);
      add("Make the images smaller, or augment less", "less work for the same cores",
          without(Owner::input), true);
    }
  }

  void for_pipeline_threads() {
    double best = evidence_.what_if.host_batch_ns.value_or(step() * 1e9) * 1e-9;
    add("Do the work once, offline: stoker prepare writes shards of finished elements",
        "what the pipeline does not compute takes no core from the model", best, false);
    double work = evidence_.pipeline.cpu_ns * 1e-9, threads = evidence_.device.threads;
    if (threads > 1)
      add(fmt::format("Leave the pipeline a core of its own: set_threads({{.compute = {:.0f}}})",
                      threads - 1),
          "compute threads no longer wait for one that the pipeline holds up",
          std::max(best * threads / (threads - 1), work), false);
  }

  double longest() const {
    double most = 0;
    for (const StageFacts& stage : evidence_.pipeline.stages)
      most = std::max(most, stage.longest_ns);
    return most;
  }

  void for_cache() {
    const PipelineFacts& pipeline = evidence_.pipeline;
    double saved = pipeline.cache.saved_ns * double(evidence_.batch_size);
    double left = pipeline.work_ns > 0 ? std::max(0.0, 1 - saved / pipeline.work_ns) : 0;
    add(fmt::format("Keep elements in memory: .cache() after {}", pipeline.cache.after),
        fmt::format("{:.0f} MB would save {} an element from the second epoch on",
                    pipeline.cache.bytes * 1e-6, duration(pipeline.cache.saved_ns * 1e-9)),
        fed_with(left), false, Knob::cache);
  }

  // What its copy costs a step: measured, or as it was seen.
  double copy_seconds() const {
    const CounterfactualFacts& what_if = evidence_.what_if;
    if (!what_if.host_batch_ns || !what_if.device_batch_ns) return step() * shares_[Owner::copy];
    return std::clamp((*what_if.host_batch_ns - *what_if.device_batch_ns) * 1e-9, 0.0, step());
  }

  void for_copy() {
    double best = evidence_.what_if.pinned_ns.value_or(without(Owner::copy) * 1e9) * 1e-9;
    // Batches that are no Dataset's are page-locked by one more copy: that is not what is meant.
    bool dataset = evidence_.pipeline.known;
    if (verdict_.limit_cause == Cause::pageable && best < step())
      add(dataset ? "Let batches lie in page-locked memory: Context{.pin = true}, as_written off"
                  : "Give fit a Dataset: its batches lie in page-locked memory",
          "the GPU then copies them itself, beside the computing", best, false,
          dataset ? Knob::page_lock : Knob::none);
    add("Copy smaller elements: uint8 images, normalised on the device",
        "a quarter of the bytes of float32", step() - 0.75 * copy_seconds(), false);
  }

  void for_launch() {
    double best = without(Owner::launch);
    if (verdict_.limit_cause == Cause::cpu_contention)
      add("Leave the training thread a core: set_threads({.pipeline = cores - 1})",
          "it waits for a core while the device waits for it", best, false);
    if (evidence_.what_if.captured_ns)
      add("Replay the captured step: Context{.capture = true}",
          fmt::format("{} kernels are started one by one", evidence_.device.kernels),
          *evidence_.what_if.captured_ns * 1e-9, false, Knob::capture);
    add("A larger batch", "the same number of starts for more samples", best, true);
  }

  // Callbacks have no part in a replayed step. Without a layer on the host, copies run beside the
  // computing again: the longer of the two is left.
  double without_host_work() const {
    const CounterfactualFacts& what_if = evidence_.what_if;
    if (!what_if.host_batch_ns) {
      double best = without(Owner::sync);
      if (host_holds(evidence_, shares_))
        best -= step() * (shares_[Owner::copy] + shares_[Owner::launch]);
      return best;
    }
    double best = *what_if.host_batch_ns;
    if (verdict_.limit_cause == Cause::host_layer) {
      double computing = what_if.device_batch_ns.value_or(best) - host_ns(evidence_.device);
      best = std::max({computing, copy_seconds() * 1e9, 0.0});
    }
    return std::max(best, what_if.pipeline_alone_ns.value_or(0)) * 1e-9;
  }

  void for_sync() {
    double best = without_host_work();
    if (verdict_.limit_cause == Cause::host_layer)
      add(fmt::format("Write the layer \"{}\" with ops instead of a function on the host",
                      verdict_.culprit),
          "it stops the device, and runs on one core", best, true);
    else if (verdict_.limit_cause == Cause::callback)
      add(fmt::format("Do the work of {} once an epoch, or every hundredth step", verdict_.culprit),
          "the device waits while it runs", best, false);
    else
      add("Read metrics once an epoch", "each reading waits for the device", best, false);
  }

  void for_latency() {
    double best = evidence_.what_if.double_batch_ns ? *evidence_.what_if.double_batch_ns * 0.5e-9
                                                    : step() * 0.7;
    add(fmt::format("Double the batch to {}", 2 * evidence_.batch_size),
        "the same number of kernels for twice the samples; the time is for as many samples as now",
        std::min(best, step()), true);
  }

  void for_busy_device() {
    if (wants_sixteen_bits(evidence_.device))
      add("Compute in sixteen bits: the policy mixed_bfloat16",
          "products of float32 leave the tensor cores idle", step() * 0.5, true);
    auto [layer, share] = busiest_layer(evidence_.device);
    if (!layer.empty())
      add(fmt::format("Make \"{}\" smaller", layer),
          fmt::format("it takes {} of the computing, without what its weights cost the optimiser",
                      percent(share)),
          step() * (1 - shares_[Owner::compute] * share / 2), true);
  }

  void for_health() {
    switch (verdict_.cause) {
      case Cause::cpu_contention:
        add("Stop what else runs on this machine, or give this program cores of its own",
            verdict_.health.front(), step() * (1 - evidence_.health.run_delay_share), false);
        break;
      case Cause::pipeline_threads:
        add("Leave the pipeline fewer cores: with_budget({.cores = 1}) behind the chain",
            verdict_.health.front(), step() * (1 - evidence_.health.run_delay_share), false);
        break;
      case Cause::quota:
        add("Raise the container's CPU quota, or use fewer threads", verdict_.health.front(),
            step() * (1 - evidence_.health.throttled_share), false);
        break;
      case Cause::throttled:
        add("Look at the GPU's cooling and power limit (nvidia-smi -q -d PERFORMANCE)",
            verdict_.health.front(), step(), false);
        break;
      case Cause::bus:
        add("Put the GPU into a full slot, and look at the BIOS", verdict_.health.front(), step(),
            false);
        break;
      default:
        break;
    }
  }

  const Verdict& verdict_;
  const Evidence& evidence_;
  StepShares shares_;
  std::vector<Prescription> list_;
};

}  // namespace

std::vector<Prescription> prescriptions_for(const Verdict& verdict, const Evidence& evidence) {
  if (verdict.finding == Finding::unstable || evidence.step_ns <= 0) return {};
  std::vector<Prescription> list = Prescriber(verdict, evidence).all();
  std::ranges::stable_sort(list, {}, &Prescription::predicted_step_seconds);
  return list;
}

}  // namespace stoker
