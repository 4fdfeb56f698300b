// Chooses how many workers make batches and how many batches they may be ahead. Looks at windows of
// some tenths of a second; climbs while the consumer waits and more workers help, gives cores back
// when it does not wait. Knows nothing of threads or clocks: one observation in, settings out.
#pragma once

#include <cstdint>

namespace stoker::data {

struct TunerSettings {
  int64_t workers = 1, depth = 2;
  friend bool operator==(const TunerSettings&, const TunerSettings&) = default;
};

// What happened in a window of time.
struct TunerWindow {
  double seconds = 0;
  double delivered = 0;     // batches
  double wait_seconds = 0;  // of the consumer
  double busy_seconds = 0;  // of all workers together
  double cpu_seconds = 0;   // of these, on a core
};

// Cores for workers that compute: all of the process, less one for the thread that launches a GPU's
// work where there are four or more.
int64_t cores_for_workers(int64_t available, bool feeds_gpu);

class Tuner {
 public:
  struct Limits {
    int64_t cores = 1;         // for workers that compute
    int64_t most_workers = 1;  // for workers that wait for disks and sleeps
    int64_t most_depth = 64;
    bool workers = true, depth = true;  // which of them may change
  };
  Tuner(const Limits& limits, TunerSettings settings) : limits_(limits), settings_(settings) {}

  const TunerSettings& settings() const { return settings_; }
  void start_from(const TunerSettings& settings) { settings_ = settings; }
  const TunerSettings& observe(const TunerWindow& window);

 private:
  int64_t most_useful_workers(const TunerWindow& window) const;
  void consider_more(const TunerWindow& window, double rate);
  void consider_fewer(const TunerWindow& window);

  Limits limits_;
  TunerSettings settings_;
  // The step that is being tried: what it was before, and at which rate.
  enum class Trial { none, workers, depth, fewer } trial_ = Trial::none;
  TunerSettings before_;
  double rate_before_ = 0;
  Trial in_vain_ = Trial::none;  // the last step that was taken back
  int64_t reach_ = 2;            // what the next step multiplies the depth by
  int calm_ = 0;                 // windows in a row without waiting
  int patience_ = 0;             // windows before the next attempt to raise
  int next_pause_ = 4;           // doubles with every attempt in vain
};

}  // namespace stoker::data
