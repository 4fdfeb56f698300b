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
  Seed(uint64_t value) : value_(value) {}

  uint64_t value() const;
  void set(uint64_t value);  // stream numbers start from 0 again
  // 0, 1, 2, …: every initialiser takes its own stream of random numbers, so that the same seed and
  // the same model, built in the same order, give the same weights. Streams from 2^63 on are never
  // handed out.
  uint64_t next_stream();

 private:
  mutable std::mutex mutex_;
  mutable std::optional<uint64_t> value_;
  uint64_t next_stream_ = 0;
};

std::ostream* standard_output();  // &std::cout

struct Context {
  Seed seed = {};
  Threads threads = {};
  bool deterministic = true;   // bit-identical results on the same machine and RunPlan
  std::string device = "cpu";  // "reference" selects the slow and obvious backend
  bool capture = true;         // replay a captured step instead of issuing its kernels one by one
  bool pin = true;             // hand batches over in page-locked memory
  std::ostream* out = standard_output();  // where progress goes; nullptr: silent

  uint64_t next_stream() { return seed.next_stream(); }
};

Context& default_context();

// The default context's.
void set_seed(uint64_t seed);
void set_threads(Threads threads);  // ValueError when one is negative

}  // namespace stoker
