// The doctor: why is this run not faster, and what do I change?
//
//   doctor::Diagnosis diagnosis = doctor::diagnose(model, train);
//   std::cout << diagnosis.text();           // the verdict first
//   diagnosis.write("report");               // report/doctor.json and report/doctor.html
//
// Every fit is observed for less than 1 % of its time; doctor::last_diagnosis(model) is what that
// saw. diagnose() trains for some steps, runs steps under other circumstances ("what if input were
// free"), and restores every bit of the model's state. Time that it cannot explain it calls
// unexplained.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/batch.h>
#include <stoker/callbacks.h>
#include <stoker/model.h>

namespace stoker::doctor {

// What the time of a step is spent on, as the device sees it: it computes, or something is the
// reason why it does not.
enum class Owner : uint8_t { compute, copy, input, launch, sync, unexplained };
inline constexpr size_t kOwners = 6;
std::string_view name(Owner owner);

// Shares of the time, which sum to 1.
struct StepShares {
  std::array<double, kOwners> share{};
  double operator[](Owner owner) const { return share[size_t(owner)]; }
  double& operator[](Owner owner) { return share[size_t(owner)]; }
};

// Where a whole fit went: shares of its seconds, which sum to 1. Measured at the ends of epochs,
// not by the steps; unexplained is what neither covers.
struct FitShares {
  double seconds = 0;    // 0: not known
  double steps = 0;      // all of them, the first included
  double read_back = 0;  // loss and metrics of an epoch, from the device
  double validation = 0;
  double epoch_turns = 0;  // callbacks and checkpoints at epoch ends, and the start of the next
  double unexplained = 0;
};

// What limits a run; none: nothing worth changing.
enum class Limit : uint8_t {
  none,
  contention,
  input,
  copy,
  launch,
  sync,
  kernels,
  memory,
  compute,
  latency,
  ranks,
  epochs
};
std::string_view name(Limit limit);

// What the doctor found.
enum class Finding : uint8_t {
  unstable,    // too few steps, or they vary too much
  health,      // throttled, a quota, a slow bus, other programs on the same cores
  contention,  // the pipeline's threads and those that compute take each other's cores
  input,
  copy,
  launch,
  sync,
  kernels,  // busy, with ops that are far below what the device allows
  memory,
  compute,
  latency,
  mixed,
  healthy,
  ranks,   // of a data-parallel training: they wait for one of them, or for the link
  epochs,  // what happens between the steps of two epochs, as validation
};
std::string_view name(Finding finding);

// Why, where a finding has several reasons.
enum class Cause : uint8_t {
  none,
  storage,           // a stage waits more than it computes
  cpu_saturated,     // all cores are busy
  parallelism,       // too few workers for the cores there are
  no_prefetch,       // every batch is made while the device waits for it
  jitter,            // fast enough on average, but unevenly
  spinning,          // waiting threads spin on cores that the pipeline needs
  pipeline_threads,  // the pipeline takes cores from the computing
  pageable,          // copies from memory that is not pinned
  small_copies,
  link,  // the bus is full
  many_small_ops,
  delayed_host,    // the thread that starts kernels waits for a core
  cpu_contention,  // other programs take the cores
  callback,
  host_layer,
  read_back,
  throttled,
  quota,
  bus,
  slow_op,       // one kind of op is far below its limit
  slow_kernels,  // so are ops of several kinds
  small_batch,
  memory_unused,  // a small batch, and most of the GPU's memory is free
  out_of_memory,
  rank_input,      // of one rank comes late
  uneven_split,    // one rank has more rows than the others
  slow_rank,       // one computes longer for as many rows
  network,         // between the ranks
  recompiling,     // steps are compiled again and again, for shapes that are new
  validation,      // takes much of every epoch
  epoch_callback,  // likewise a callback at the ends of epochs, as one that saves
  short_epochs,    // likewise the beginning of an epoch: there are few steps in it
};
std::string_view name(Cause cause);

struct Verdict {
  Finding finding = Finding::unstable;
  Limit limit = Limit::none;  // the word of the progress bar; also behind a finding of health
  Cause cause = Cause::none;
  Cause limit_cause = Cause::none;  // why it limits; differs from `cause` behind a health finding
  bool high = false;                // more than moderate
  std::string culprit = {};         // the stage, callback, layer or op; empty: none is singled out
  std::string sentence = {};        // the whole verdict as text
  std::vector<std::string> health = {};
  std::vector<std::string> hints = {};
};

// What tune = Auto can change: none of it changes a result.
enum class Knob : uint8_t { none, pipeline, cache, page_lock, capture };
std::string_view name(Knob knob);

// What a prescription does, for programs; `what` is the text for users.
enum class Action : uint8_t {
  pass_dataset,    // instead of single batches
  prefetch,        // make batches while the device computes
  deepen,          // prefetch more batches
  parallel_reads,  // wait for more files at the same time
  parallel_map,    // spread a stage over the cores
  cache,           // keep elements in memory
  save,            // do the work once, and train from shards of finished elements
  less_work,       // smaller elements, less augmentation
  leave_core,      // fewer compute threads, so that the pipeline has a core
  sleep_waiting,   // threads that wait give their cores away
  page_lock,       // batches in pinned memory
  small_elements,  // copy uint8, convert on the device
  keep_core,       // fewer pipeline threads, so that the training thread has a core
  capture,         // start a step as one
  larger_batch,
  write_with_ops,   // instead of a layer on the host
  seldom_callback,  // once per epoch
  seldom_metrics,   // read once per epoch
  mixed_precision,  // 16-bit products
  faster_ops,       // in place of those far below their limit
  separable_conv,   // instead of a full convolution
  shrink_layer,
  prune_channels,  // fewer channels in all layers: prune.h, measured by compare.h
  stop_others,     // other programs
  raise_quota,
  cool,        // the GPU
  full_slot,   // for the GPU
  accumulate,  // gradients of smaller batches
  shrink_model,
  fixed_shapes,       // pad batches to few shapes
  seldom_validation,  // not after every epoch, or on less
  longer_epochs,      // repeat the data
};
std::string_view name(Action action);

// What could be changed. The predicted time is what remains if all of it works: a ceiling; 0 where
// nothing was predicted.
struct Prescription {
  Action action = Action::prefetch;
  std::string what = {}, why = {};
  double predicted_step_seconds = 0;
  bool changes_results = false;
  std::string provided = {};  // results stay the same under this condition; empty: always
  Knob knob = Knob::none;     // that does it
  // Where it was tried: geometric means of alternating blocks, and the gain (1 - after / before)
  // with its 95 % interval. `settled` is a step after what was kept has come to rest.
  bool tried = false, kept = false;
  double before_seconds = 0, after_seconds = 0, gain = 0, gain_low = 0, gain_high = 0;
  double settled_seconds = 0;
};

struct StageReport {
  std::string name = {};
  double seconds = 0;     // per element
  double cpu_share = -1;  // of that time on a core; -1: not known
  double longest_seconds = 0;
  double bytes = 0;  // per element
  double share = 0;  // of all stages
  // Draws random numbers, or works on what a stage before it drew: never worth keeping.
  bool random = false;
};

struct PipelineReport {
  bool known = false;
  double workers = 0, depth = 0;
  bool as_written = false, tuned = false;
  double ready_share = 0;          // of steps: the batch was there when it was asked for
  double median_wait_seconds = 0;  // of a step
  double busy_share = 0;           // of the workers' time
  std::vector<StageReport> stages;
  std::string cache_after;  // where a cache would pay
  double cache_bytes = 0;
};

// A layer's ops in one direction.
struct LayerReport {
  std::string layer = {}, op = {}, kernel = {}, phase = {};
  double seconds = 0, flops = 0, bytes = 0;       // bytes: read and written
  double written = 0;                             // of the bytes
  double compute_share = 0, bandwidth_share = 0;  // of what the machine reaches
  Limit limit = Limit::none;
  // Bytes by the memory plan: its results and workspace, and all that is held while it runs.
  double memory = 0, live = 0;
};

// A step under other circumstances.
struct Counterfactual {
  std::string name = {};
  double seconds = 0;
  std::string meaning = {};
};

struct BreakdownPoint {
  double time = 0;  // seconds since the fit began
  double step_seconds = 0;
  StepShares shares = {};
};

struct DeviceSample {
  double time = 0;
  double use = -1, memory_bytes = -1, power_watts = -1, clock_mhz = -1;  // -1: not known
  // Shares of the GPU since the reading before, where its driver counts them (Hopper and later):
  // warps of its multiprocessors, tensor cores, memory.
  double occupancy = -1, tensor_use = -1, memory_use = -1;
  double process_cores = -1, other_cores = -1;
};

struct CallbackReport {
  std::string name = {};
  double seconds = 0;  // per step
};

// One rank of a data-parallel training. Seconds per step.
struct RankReport {
  int64_t rank = 0;
  std::string host;
  double step_seconds = 0;
  double input_seconds = 0;    // waiting for its batch
  double waiting_seconds = 0;  // for the sums, and so for other ranks or the link
  double rows = 0;             // per step
};

struct Diagnosis {
  Verdict verdict;
  int64_t steps = 0;  // observed
  double step_seconds = 0, samples_per_second = 0;
  double variation = 0;  // of the device's part of a step
  StepShares shares;
  FitShares fit;              // of last_diagnosis
  double looked_seconds = 0;  // per step: what observing took
  std::vector<BreakdownPoint> course;
  PipelineReport pipeline;
  std::vector<CallbackReport> callbacks;
  std::vector<RankReport> ranks;  // empty: one process
  std::vector<LayerReport> layers;
  std::vector<Counterfactual> counterfactuals;
  std::vector<Prescription> prescriptions;
  std::vector<DeviceSample> device;
  std::optional<MemoryUse> predicted_memory;
  int64_t measured_memory = 0;  // bytes at most, of the process or on the GPU
  std::string device_name, machine;
  // Per second, measured: products, and bytes in memory and in the last cache; 0: not measured.
  double peak_flops = 0, peak_bandwidth = 0, peak_cache_bandwidth = 0;
  std::string trust;  // how far these numbers go

  std::string text(bool colour = false) const;
  std::string json() const;
  std::string html() const;  // one page without any other file
  // Writes doctor.json and doctor.html atomically. Creates the folder if needed.
  void write(const std::string& folder) const;
};

struct DiagnoseOptions {
  int64_t steps = 150;
  int64_t warm_up = 10;                     // steps before anything counts
  bool counterfactuals = true;              // replay, the pipeline alone, a batch twice as large
  bool layers = true;                       // time every layer
  bool fix = false;                         // try what cannot change results, keep what helps
  double seconds = 60;                      // no new experiment begins after so long
  std::vector<CallbackRef> callbacks = {};  // as in the fit that is to be explained
};

// Trains, looks, and restores weights, optimiser and random state bit for bit.
Diagnosis diagnose(const Model& model, const Batches& batches, const DiagnoseOptions& options = {});

// What was seen during the last fit; nothing before the first, or when it was too short to say.
std::optional<Diagnosis> last_diagnosis(const Model& model);

}  // namespace stoker::doctor
