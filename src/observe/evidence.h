// Everything a verdict is made of: what was measured, reduced to plain numbers. Recorded by the
// observer and the counterfactuals, written by hand in tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/pipeline_statistics.h"
#include "observe/accounting.h"

namespace stoker::doctor {

// A third of the steps that were looked at.
struct WindowFacts {
  Accounting accounting;
  double ready_share = 1;  // of steps: the batch was there when it was asked for
  double median_wait_ns = 0;
  double late_share = 0;  // of all waiting: in steps whose batch was not there
};

// What a stage did in the steps that were looked at.
struct StageFacts {
  std::string name = {};
  double ns = 0;          // per element, mean
  double cpu_share = -1;  // -1: not known
  double longest_ns = 0, bytes = 0;
  bool random = false;  // it draws, or works on what was drawn before it
};

struct PipelineFacts {
  bool known = false;
  double workers = 0, depth = 0;  // workers 0: the consumer makes every batch itself
  bool as_written = false, tunes_workers = false, tunes_depth = false, page_locked = false;
  bool reads_files = false;             // its source does
  double busy_share = 0;                // of the workers' time
  double work_ns = 0;                   // of all workers, per batch
  double cpu_ns = 0;                    // of these, on a core
  std::vector<StageFacts> stages = {};  // from the source to the end
  CacheAdvice cache = {};
};

// How the program's own threads share the cores: all of it in cores, on average; 0: not known.
struct CoreFacts {
  double wanted = 0;     // on a core, or ready and waiting for one
  double pipeline = 0;   // on a core: threads that make batches
  double computing = 0;  // on a core: all other threads
};

struct HealthFacts {
  double throttled_share = 0;       // of the time: the control group held this process back
  double quota_cores = 0;           // 0: none
  double available_cores = 1;       // that this process may use
  double process_cores = 0;         // it used, on average
  double other_cores = 0;           // of these, used by others
  double run_delay_share = 0;       // of the time: a thread that trains was ready but had no core
  double pipeline_delay_share = 0;  // the same for threads that make batches
  CoreFacts own = {};
  std::vector<std::string> gpu_throttle_reasons = {};
  double gpu_power_limit = 0;  // watts, where the GPU works as hard as they allow; 0: it does not
  int pcie_generation = 0, pcie_generation_max = 0, pcie_width = 0, pcie_width_max = 0;
};

// Ops of the step, where they were timed.
struct OpFacts {
  std::string layer = {}, op = {};
  double share = 0;                               // of the computing
  double ns = 0;                                  // a step
  double compute_share = 0, bandwidth_share = 0;  // of the machine's
  // What the second can be at most, where a part of the data may have come from a nearer cache; 0:
  // the same.
  double bandwidth_at_most = 0;
  double reach_doubled = -1;  // the larger share in a batch twice as large; -1: not tried
  bool host = false;          // a user's code on the host
  double separable = 0;       // of a convolution: how many times fewer FLOPs a separable one has
};

struct DeviceFacts {
  bool gpu = false, tensor_cores = false, sixteen_bit = false;
  bool pinned = false;                              // batches lie in page-locked memory
  double threads = 1;                               // that compute, where the device is the host
  double compute_share = -1, bandwidth_share = -1;  // of the whole step; -1: not known
  // Of the computing: what ops would take at least, those nearer to the peak of arithmetic and those
  // nearer to that of memory. Every op counts in one of the two; -1: not known.
  double at_peak = -1, at_bandwidth = -1;
  double launch_share = 0;  // of the computing: around kernels
  int64_t kernels = 0;
  double copy_bytes = 0;          // per step
  double float_bytes = 0;         // of these, inputs in float32
  double copy_ns = 0;             // per step, beside the computing or not; 0: not known
  double link_bandwidth = 0;      // bytes per second, measured; 0: not known
  double memory_share = -1;       // of a GPU's memory: in use; -1: not known
  double use = -1;                // of a GPU's time: some kernel runs, by its driver; -1: not known
  std::vector<OpFacts> ops = {};  // the longest first
};

struct CallbackFacts {
  std::string name = {};
  double ns = 0;        // a step
  double epoch_ns = 0;  // an epoch, outside of its steps
};

// An epoch of those behind the first, which starts everything; nanoseconds, on average. A part of
// the steps' time is waiting for the last of them.
struct EpochFacts {
  int64_t count = 0;  // 0: nothing is known
  double steps_ns = 0, validation_ns = 0, turn_ns = 0;
  double wall_ns() const { return steps_ns + validation_ns + turn_ns; }
};

// Steps under other circumstances, nanoseconds; nothing where it was not tried.
struct CounterfactualFacts {
  // One batch of the host's again and again, the pipeline paused, its copy to the device kept.
  // Where the device is the host there is none, and this is the only replay.
  std::optional<double> host_batch_ns = {};
  std::optional<double> device_batch_ns = {};    // the same without its copy
  std::optional<double> captured_ns = {};        // captured and replayed, where the run is not
  std::optional<double> pinned_ns = {};          // out of page-locked memory, where the run is not
  std::optional<double> pipeline_alone_ns = {};  // a batch without a model that takes it
  std::optional<double> double_batch_ns = {};
};

// One rank of several; nanoseconds per step.
struct RankFacts {
  int64_t rank = 0;
  std::string host = {};
  double step_ns = 0, input_ns = 0;
  double wait_ns = 0;  // for sums
  double rows = 0;
  double own_ns() const { return step_ns - wait_ns; }  // what it needs by itself
};

struct Outlier {
  int64_t step = 0;
  double ns = 0;
  Owner owner = Owner::unexplained;
};

struct Evidence {
  std::vector<WindowFacts> windows = {};  // three
  int64_t steady_steps = 0;
  double step_ns = 0;    // mean
  double variation = 0;  // of the device's part, robust, as a share of a step
  std::vector<Outlier> outliers = {};
  HealthFacts health = {};
  PipelineFacts pipeline = {};
  DeviceFacts device = {};
  CounterfactualFacts what_if = {};
  std::vector<CallbackFacts> callbacks = {};
  EpochFacts epochs = {};
  double making_ns = 0;               // a step: a program is compiled for its shapes
  double making_share = 0;            // of the steps
  std::vector<RankFacts> ranks = {};  // none: one process
  int64_t batch_size = 0;
  std::string does_not_fit = {};  // why no step can run in the memory there is; empty: it can
  int64_t fitting_batch = 0;      // the largest power of two that would; 0: none

  Accounting total() const;
};

}  // namespace stoker::doctor
