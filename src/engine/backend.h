// THE seam of the engine. A backend receives a whole graph with concrete shapes and returns a
// program that can be run any number of times. Inside it may choose layouts, fuse and reorder; it
// may not change results beyond the tolerance stated in docs/reference/ops.md.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/context.h>
#include <stoker/error.h>

#include "base/host_memory.h"
#include "graph/graph.h"
#include "graph/passes/memory_plan.h"

namespace stoker {

// Scratch memory shared by the programs of one run: they run one at a time. It grows when a program
// is compiled that needs more; programs notice by its generation and bind anew.
class Arena {
 public:
  virtual ~Arena() = default;
};

struct CompileOptions {
  int threads = 0;  // 0: as the context says
  bool deterministic = true;
  std::shared_ptr<Arena> arena;  // null: the program makes its own
  bool keep_order = false;       // no fusion, nodes as they stand (debugging, diagnosis)
  // Devices that run beside the host only:
  bool capture = true;  // replay a captured step instead of issuing its kernels one by one
  bool tf32 = false;    // float32 products with ten-bit mantissas, on tensor cores
  // How many runs late run() may report a non-finite guard, so that it need not wait. All updates
  // since then were skipped, and find_non_finite replays the run that failed.
  int status_lag = 0;
  bool pin = true;             // copy inputs out of page-locked memory, beside the step before
  size_t memory_limit = 0;     // bytes of the device that may be held; 0: all there are
  double memory_fraction = 0;  // the same as a part of the device's memory; 0: all of it
  bool memory_growth = true;   // false: all that may be held is taken at once
};

// One step of a program, for profilers and reports.
struct KernelInfo {
  std::string op;      // "conv2d", "reorder", …
  std::string kernel;  // what runs it: "jit:avx512_core", "own:avx2", "reference"
  std::string scope;   // layer
  Phase phase = Phase::forward;
  Cost cost;
  // Of the memory plan, bytes: what begins with it (its results and workspace), and all that is
  // held while it runs, weights and inputs aside.
  size_t memory = 0, live = 0;
};

struct NonFinite {
  std::string op, scope;
  TensorSpec spec;
};

// What a program has asked of a device beside the host since it was made, and what its backend
// holds there now.
struct DeviceCounts {
  int64_t launches = 0;          // of captured steps, or of kernels where nothing is captured
  int64_t synchronisations = 0;  // times the host waited for all it had launched
  int64_t throttles = 0;         // times it was several runs ahead and waited for the oldest
  int64_t allocations = 0;       // of device memory, by all programs of the backend
  size_t bytes = 0;              // in use, by all programs of the backend
};

// What a device beside the host did in one run, in nanoseconds of the device's own clock.
struct DeviceStep {
  // steady_clock(): when its launch began, and when the first of its kernels was on its way. Where
  // the device had run dry, `busy` counts from the former.
  int64_t launched = 0, issued = 0;
  int64_t run = 0;    // of the program, from 0
  int64_t busy = 0;   // from its first kernel to the end of its last
  int64_t idle = -1;  // from the end of the run before; -1: there was none, or another program ran
  int64_t copy = 0;   // copying its inputs
  int64_t exposed_copy = 0;  // the part of `idle` in which its inputs had not arrived yet
  bool ran_dry = false;      // the run before had ended when this one was launched
};

// How a program works with a device beside the host. None of it changes a result, and all of it may
// change between two runs.
struct DeviceKnobs {
  bool capture = true, pin = true;  // as in CompileOptions
  // Experiments only: inputs that lie on the device already are taken again instead of copied.
  bool reuse_inputs = false;
  friend bool operator==(const DeviceKnobs&, const DeviceKnobs&) = default;
};

enum class RunStatus : uint8_t { ok, skipped_non_finite };

// Runs one at a time, beside programs that write none of its variables. A steady run() neither
// allocates nor synchronises beyond what its device needs.
class Program {
 public:
  virtual ~Program() = default;

  // inputs: one per graph input, in order, with the graph's specs (checked). An asynchronous device
  // may read them after run() returns: it then keeps the tensors, and so their memory, until it
  // has read them. If the guard is not finite, the updates are skipped and the status says so.
  virtual RunStatus run(std::span<const Tensor> inputs) = 0;
  // Waits for all runs so far, and returns a guard failure that run() has not reported yet.
  virtual RunStatus status() { return RunStatus::ok; }
  // How many runs ago the failure happened that run() or status() reported last.
  virtual int64_t runs_behind() const { return 0; }
  // A copy of output `index` of the last run; waits for it.
  virtual Tensor output(size_t index) const = 0;
  // Output `index` as a float32 or integer scalar, without allocating; waits for it.
  virtual double scalar(size_t index) const = 0;

  virtual const MemoryReport& memory() const = 0;
  virtual DeviceCounts device_counts() const { return {}; }
  // The oldest finished run that was not returned yet; false: none so far. Never waits: a run is
  // reported about two runs later. Runs that are never asked for are dropped. Always false on a
  // CPU, where the device is the thread that calls run().
  virtual bool take_device_step(DeviceStep&) { return false; }
  // Reports every run from the next one on; so does the first take_device_step().
  virtual void watch_device_steps() {}
  // Nothing where the device is the host.
  virtual std::optional<DeviceKnobs> device_knobs() const { return std::nullopt; }
  virtual void set_device_knobs(const DeviceKnobs&) {}
  virtual const std::vector<KernelInfo>& kernels() const = 0;
  // One run that also times every kernel (nanoseconds, parallel to kernels()).
  virtual RunStatus run_timed(std::span<const Tensor> inputs,
                              std::vector<int64_t>& nanoseconds) = 0;
  // Runs without any update and names the first node with a non-finite output.
  virtual std::optional<NonFinite> find_non_finite(std::span<const Tensor> inputs) = 0;
};

// What the rooms around an engine ask about it, so that none of them asks for its name. Constant:
// all devices of a kind share it, and reading it opens no device.
struct BackendTraits {
  std::string_view name;           // what Context::device calls it: "cpu", "cuda"
  std::string_view title = "CPU";  // what people call its device
  bool numbered = false;           // there may be several: "cuda:0", "cuda:1"
  bool preferred = false;          // "auto" takes it before the CPU
  bool oracle = false;             // for tests: slow, not listed, and its speed says nothing
  bool beside_host = false;        // run() launches and returns: the host is free meanwhile
  bool own_memory = false;         // follows memory_limit, memory_fraction and memory_growth
  bool pins = false;               // copies inputs out of page-locked memory
  bool captures = false;           // replays captured steps
  bool tf32 = false;               // can round float32 products to ten-bit mantissas
  bool half_products = false;      // has products in 16 bits
  bool tensor_cores = false;       // which make those products several times as fast
  int lanes = 0;                   // programs of a model that run at a time; 0: one per core
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendTraits& traits() const = 0;
  std::string_view name() const { return traits().name; }
  // Whether it has a kernel for this op and dtype of the main operand.
  virtual bool supports(std::string_view op, DType dtype) const = 0;
  virtual std::unique_ptr<Program> compile(const Graph& graph, const CompileOptions& options) = 0;
  virtual std::shared_ptr<Arena> make_arena() = 0;
  // Everything of this machine that can change a bit of the result: library versions, instruction
  // set.
  virtual std::string fingerprint() const = 0;
  // Bytes that programs may still take: of the device, or of this machine's memory; 0: unknown.
  // What this backend holds but does not use counts as free, a limit of `options` is respected.
  virtual size_t free_bytes(const CompileOptions& options) const;
  // Bytes of the last cache before the memory; 0: unknown.
  virtual size_t cache_bytes() const;
  // The PCI address by which the system's driver monitors the device; empty: there is none.
  virtual std::string bus_id() const { return {}; }
  // Where batches for this device are best put together: pinned memory, if it copies from there
  // during the previous step; else ordinary memory. Lives until the process ends.
  virtual HostMemory& host_memory() const { return ordinary_memory(); }
};

// The engine of a device as Context::device names it: "auto", "cpu", "cuda", "cuda:1", … (see
// registry.h). Opens the device. ValueError lists the names, or says why the device is not usable.
Backend& backend(std::string_view device);

// Shared by backends: specs, count, definedness and InputLimits of a run's inputs; ShapeError /
// ValueError with the input's name and the offending element.
void check_inputs(const Graph& graph, std::span<const Tensor> inputs);

}  // namespace stoker
