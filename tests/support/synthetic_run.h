// A training as numbers, milliseconds per step: what its step takes, what the doctor would measure
// of it, and what becomes of it when a prescription is applied. A model without noise, so that a
// gain has a sign.
#pragma once

#include <algorithm>
#include <vector>

#include "observe/evidence.h"

namespace stoker::test {

struct SyntheticRun {
  double cores = 4, threads = 1;
  double crowded = 0;     // what computing loses to the pipeline's threads on the same cores
  bool spinning = false;  // because threads that wait do not sleep
  bool gpu = false, dataset = true, tuned = false;
  int64_t batch = 32;
  // The pipeline, per batch: on a core, of that in a stage that is the same every epoch, and off the
  // cores. `uneven`: what late batches cost although the mean is fast enough.
  double work = 0, keepable = 0, storage = 0, uneven = 0;
  double workers = 0;
  bool fits_memory = true;
  // The step: a part per kernel, and a part per sample.
  double compute = 10, per_batch = 0;
  double copy = 0, launch = 0, delayed = 0, callback = 0, host_layer = 0, read_back = 0;
  double compiling = 0;
  // Between the epochs, for each step of one: validation, a callback that saves, and the beginning.
  double validation = 0, saving = 0, beginning = 0;
  bool pinned = true;
  double conv_share = 0, largest_share = 0, compute_share = -1, bandwidth_share = -1;
  double memory_share = -1;
  double slow_share = 0, slow_reach = 0.01;  // of the computing: an op so far below its limit
  // What holds all of it up, shares.
  double others = 0, throttled = 0;
  bool hot = false, narrow = false;
  bool too_large = false;

  double copying() const { return pinned ? std::max(0.0, copy - compute) : copy; }
  // Without waiting for batches, and without callbacks.
  double device() const {
    return per_batch + compute + crowded + copying() + launch + delayed + host_layer;
  }
  double busy() const { return device() + callback + read_back + compiling; }
  double making() const {
    return std::max(work / std::clamp(workers, 1.0, cores),
                    (work + storage) / std::max(1.0, workers));
  }
  double step() const {
    double fed = workers == 0 ? busy() + work + storage : std::max(busy(), making()) + uneven;
    double fits = gpu ? fed : std::max(fed, (work + (per_batch + compute) * threads) / cores);
    return fits / (1 - others) / (1 - throttled) * (hot ? 1.3 : 1) * (narrow ? 1.2 : 1);
  }
  double per_sample() const { return (step() + validation + saving + beginning) / double(batch); }
};

// The run as it is with the prescription carried out.
inline SyntheticRun applied(SyntheticRun run, doctor::Action action) {
  using doctor::Action;
  switch (action) {
    case Action::pass_dataset:
      run.dataset = run.pinned = true;
      run.workers = run.cores;
      break;
    case Action::prefetch:
    case Action::parallel_map:
      run.workers = run.cores;
      break;
    case Action::deepen:
      run.uneven = 0;
      break;
    case Action::parallel_reads:
      run.workers = 16;
      break;
    case Action::cache:
    case Action::save:
      run.work -= run.keepable;
      break;
    case Action::less_work:
      run.work /= 2;
      break;
    case Action::leave_core:
      run.compute *= run.threads / (run.threads - 1);
      run.threads -= 1;
      run.crowded = 0;
      break;
    case Action::sleep_waiting:
      run.crowded = 0;
      run.spinning = false;
      break;
    case Action::page_lock:
      run.pinned = true;
      break;
    case Action::small_elements:
      run.copy /= 4;
      break;
    case Action::keep_core:
      run.delayed = 0;
      break;
    case Action::capture:
      run.launch = 0;
      break;
    case Action::larger_batch:
      run.batch *= 2;
      for (double* part : {&run.compute, &run.work, &run.keepable, &run.storage, &run.copy})
        *part *= 2;
      break;
    case Action::write_with_ops:
      run.host_layer = 0;
      break;
    case Action::seldom_callback:
      run.callback /= 100;
      run.saving /= 10;
      break;
    case Action::fixed_shapes:
      run.compiling = 0;
      break;
    case Action::seldom_validation:
      run.validation /= 5;
      break;
    case Action::longer_epochs:
      run.beginning /= 10;
      break;
    case Action::seldom_metrics:
      run.read_back /= 100;
      break;
    case Action::mixed_precision:
      run.compute /= 2;
      break;
    case Action::faster_ops:
      run.compute *= 1 - run.slow_share * (1 - run.slow_reach / 0.6);
      break;
    case Action::separable_conv:
      run.compute *= 1 - run.conv_share * 7 / 8;
      break;
    case Action::shrink_layer:
      run.compute *= 1 - std::max(run.largest_share, run.conv_share) / 2;
      break;
    case Action::prune_channels:
      run.compute *= 1 - (run.largest_share + run.conv_share + run.slow_share) / 2;
      break;
    case Action::stop_others:
      run.others = 0;
      break;
    case Action::raise_quota:
      run.throttled = 0;
      break;
    case Action::cool:
      run.hot = false;
      break;
    case Action::full_slot:
      run.narrow = false;
      break;
    case Action::accumulate:
    case Action::shrink_model:
      run.too_large = false;
      break;
  }
  return run;
}

inline doctor::Evidence evidence_from(const SyntheticRun& run) {
  using doctor::Owner;
  doctor::Evidence evidence;
  double step = run.step();
  doctor::Accounting window{.steps = 50};
  auto give = [&](Owner owner, double ms) {
    window.ns[size_t(owner)] += int64_t(50e6 * ms);
    window.wall += int64_t(50e6 * ms);
  };
  double computing = run.per_batch + run.compute + run.crowded;
  give(Owner::compute, computing);
  give(Owner::copy, run.copying());
  give(Owner::launch, run.launch + run.delayed);
  give(Owner::sync, run.callback + run.host_layer + run.read_back + run.compiling);
  double waits = std::max(0.0, step - run.busy());
  bool ill = run.others > 0 || run.throttled > 0 || run.hot || run.narrow;
  give(ill ? Owner::compute : Owner::input, waits);
  evidence.windows.assign(3, {.accounting = window,
                              .ready_share = waits > 0 && !ill ? 0.2 : 1.0,
                              .median_wait_ns = ill ? 0 : waits * 1e6});
  evidence.steady_steps = 150;
  evidence.step_ns = step * 1e6;
  evidence.batch_size = run.batch;

  doctor::PipelineFacts& pipeline = evidence.pipeline;
  pipeline.known = run.dataset;
  pipeline.workers = run.workers;
  pipeline.depth = 2;
  pipeline.tunes_workers = pipeline.tunes_depth = run.tuned;
  pipeline.as_written = !run.tuned;
  pipeline.busy_share = 0.95;
  pipeline.work_ns = (run.work + run.storage) * 1e6;
  pipeline.cpu_ns = run.work * 1e6;
  double made = run.work + run.storage;
  if (made > 0)
    pipeline.stages = {{.name = "map(\"make\")",
                        .ns = made * 1e6 / double(run.batch),
                        .cpu_share = run.work / made,
                        .longest_ns = (made + run.uneven) * 1e6}};
  if (run.keepable > 0)
    pipeline.cache = {.after = "map(\"decode\")",
                      .bytes = 1e8,
                      .saved_ns = run.keepable * 1e6 / double(run.batch),
                      .elements = 1000,
                      .fits = run.fits_memory,
                      .tunable = true};

  doctor::HealthFacts& health = evidence.health;
  health.available_cores = run.cores;
  health.process_cores = std::min(run.cores, (run.work + computing * run.threads) / step);
  health.own.computing = run.spinning ? computing / step * run.threads + 1 : 0;
  health.other_cores = run.others > 0 ? 2 : 0;
  health.run_delay_share = std::max(run.others, run.delayed > 0 ? 0.2 : 0);
  health.throttled_share = run.throttled;
  health.quota_cores = run.throttled > 0 ? 2 : 0;
  if (run.hot) health.gpu_throttle_reasons = {"its temperature"};
  if (run.narrow) health.pcie_width = 4, health.pcie_width_max = 16;

  doctor::DeviceFacts& device = evidence.device;
  device.gpu = device.tensor_cores = run.gpu;
  device.pinned = run.pinned;
  device.threads = run.threads;
  device.compute_share = device.at_peak = run.compute_share;
  device.bandwidth_share = device.at_bandwidth = run.bandwidth_share;
  device.memory_share = run.memory_share;
  device.kernels = 40;
  device.copy_bytes = device.float_bytes = 1e6;
  if (run.largest_share > 0)
    device.ops.push_back({.layer = "wide", .op = "matmul", .share = run.largest_share});
  if (run.conv_share > 0)
    device.ops.push_back(
        {.layer = "stem", .op = "conv2d", .share = run.conv_share, .separable = 8});
  if (run.slow_share > 0)
    device.ops.push_back({.layer = "slow",
                          .op = "conv2d",
                          .share = run.slow_share,
                          .ns = run.slow_share * computing * 1e6,
                          .compute_share = run.slow_reach,
                          .bandwidth_share = run.slow_reach / 2});
  if (run.host_layer > 0)
    device.ops.push_back(
        {.layer = "own", .op = "host_call", .ns = run.host_layer * 1e6, .host = true});
  if (run.callback + run.saving > 0)
    evidence.callbacks = {{.name = run.saving > 0 ? "Saver" : "Printer",
                           .ns = run.callback * 1e6,
                           .epoch_ns = run.saving * 1e7}};
  evidence.making_ns = run.compiling * 1e6;
  evidence.making_share = run.compiling > 0 ? 0.8 : 0;
  if (run.validation + run.saving + run.beginning > 0)
    evidence.epochs = {.count = 4,
                       .steps_ns = step * 1e7,
                       .validation_ns = run.validation * 1e7,
                       .turn_ns = (run.saving + run.beginning) * 1e7};
  if (run.too_large) evidence.does_not_fit = "100 MB are missing", evidence.fitting_batch = 8;
  if (ill || run.too_large) return evidence;  // experiments would be held up, too

  SyntheticRun other = run;
  evidence.what_if.host_batch_ns = (run.device() - run.crowded) * 1e6;
  if (run.gpu) {
    other.copy = 0;
    evidence.what_if.device_batch_ns = other.device() * 1e6;
  }
  if (run.launch > 0)
    other = run, other.launch = 0, evidence.what_if.captured_ns = other.device() * 1e6;
  if (!run.pinned)
    other = run, other.pinned = true, evidence.what_if.pinned_ns = other.device() * 1e6;
  if (run.dataset) evidence.what_if.pipeline_alone_ns = run.making() * 1e6;
  evidence.what_if.double_batch_ns = applied(run, doctor::Action::larger_batch).device() * 1e6;
  return evidence;
}

}  // namespace stoker::test
