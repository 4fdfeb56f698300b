// What is global to a run hangs on one Context: seed, threads, device and the switches of automatic
// repairs. There is a default one, and everything that needs one can be given another:
//   Context plain{.capture = false, .pin = false};
// A Context is set up before it is used; only its seed may be touched from several threads at once.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>

#include <stoker/dtype.h>

namespace stoker {

// How many threads the two groups have; 0: chosen from the cores this process may use.
struct Threads {
  int pipeline = 0;
  int compute = 0;
  friend bool operator==(const Threads&, const Threads&) = default;
};

// The seed of a run. One that was never set is drawn once from the operating system's entropy, so
// that runs differ, and can be read back, so that any run can be repeated. Thread-safe.
class Seed {
 public:
  Seed() = default;
  Seed(uint64_t value) : value_(value), drawn_(false) {}

  uint64_t value() const;
  void set(uint64_t value);  // stream numbers start from 0 again
  bool drawn() const;        // value() is, or will be, from entropy
  // A run that goes on takes the seed that it began with; stream numbers stay, and so does drawn().
  void resume(uint64_t value);
  // 0, 1, 2, …: every initialiser takes its own stream of random numbers, so that the same seed and
  // the same model, built in the same order, give the same weights. Streams from 2^63 on are never
  // handed out.
  uint64_t next_stream();

 private:
  mutable std::mutex mutex_;
  mutable std::optional<uint64_t> value_;
  bool drawn_ = true;
  uint64_t next_stream_ = 0;
};

std::ostream* standard_output();  // &std::cout

struct Context {
  Seed seed = {};
  Threads threads = {};
  bool deterministic = true;  // bit-identical results on the same machine and RunPlan
  // "auto" takes the first usable GPU, else the CPU; a GPU that stands idle is mentioned once per
  // process, with what to do. "cpu", "cuda" (the first GPU) and "cuda:N" select one, "reference" the
  // slow and obvious backend. compile() and function() refuse a device that cannot be used.
  std::string device = "auto";
  // As Keras's set_global_policy: "float32", "mixed_bfloat16", "mixed_float16". Mixed: products and
  // activations in 16-bit floats, weights, statistics and losses in float32. float16 also scales the
  // loss (LossScaleOptimizer). Devices that have no such products stay with float32.
  // compile() and function() say so, and name the GPU settings below that a CPU has no use for.
  std::string policy = "float32";
  // GPUs: whether float32 products round their operands to ten-bit mantissas, for tensor cores.
  // Unset: in a mixed policy, where the layers that stay float32 would take most of the time
  // otherwise.
  std::optional<bool> tf32 = {};
  // Bytes that may be held: on a GPU by all programs together, on a CPU by each program. More is an
  // OutOfMemoryError. 0: all there are.
  size_t memory_limit = 0;
  double memory_fraction = 0;  // GPUs: the same as a part of the GPU's memory; 0: all of it
  bool memory_growth = true;   // GPUs: false takes all that may be held at the first use
  bool capture = true;         // replay a captured step instead of issuing its kernels one by one
  bool pin = true;             // hand batches over in pinned memory
  std::ostream* out = standard_output();  // where progress goes; nullptr: silent

  uint64_t next_stream() { return seed.next_stream(); }
};

Context& default_context();

// The default context's.
void set_seed(uint64_t seed);
void set_threads(Threads threads);                  // ValueError when one is negative
void set_global_policy(const std::string& policy);  // ValueError lists the names

// What a policy computes in; ValueError lists the names.
DType compute_dtype(const std::string& policy);

}  // namespace stoker
