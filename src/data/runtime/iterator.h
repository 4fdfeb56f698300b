#pragma once

#include "base/one_thread.h"
#include "base/pipeline_statistics.h"
#include "data/runtime/run.h"
#include "data/runtime/runner.h"

namespace stoker::data {

// Plans a chain for running; `pool` null: only to be described.
struct Plan {
  std::shared_ptr<Run> run;
  std::unique_ptr<Runner> runner;
  TunerSettings start;
  Tuner::Limits limits;
};
struct PlanOptions {
  uint64_t seed = 0;
  bool seed_drawn = false;  // it was never set
  ThreadPool* pool = nullptr;
  int threads = 1;
  bool pin = false;                 // whether `memory` is used
  HostMemory* memory = nullptr;     // that the consumer's device copies from; null: ordinary
  bool feeds_gpu = false;           // whoever takes the batches launches a GPU's work
  std::vector<int64_t> order = {};  // the elements to make, instead of all in their order
  PipelineKnobs knobs = {};
  std::shared_ptr<void> kept = {};  // Run::kept of a walk of the same chain
};
Plan make_plan(const NodeRef& root, const PlanOptions& options);
// Most threads that workers of this chain could use.
int threads_for(const Settings& settings, const Context& context);

class Iterator::Impl {
 public:
  Impl(const NodeRef& root, const IterateOptions& options, const PipelineKnobs& knobs = {},
       std::shared_ptr<void> kept = {});

  const Batch* next();
  int64_t epoch() const;
  bool finished() const { return finished_; }
  std::string state() const;
  std::vector<int64_t> order() const { return runner_->order(); }
  const std::shared_ptr<Run>& run() const { return run_; }

 private:
  void tune(int64_t now);
  void hand_on_notices();
  void load_tuned();
  void save_tuned() const;

  uint64_t seed_ = 0, fingerprint_ = 0;
  OneThread one_thread_;
  const int forks_ = forks();
  std::unique_ptr<ThreadPool> pool_;  // before what works on it
  std::shared_ptr<Run> run_;
  std::unique_ptr<Runner> runner_;
  std::optional<Tuner> tuner_;
  std::ostream* out_ = nullptr;  // Context::out
  Batch current_;
  bool finished_ = false;
  int64_t window_begin_ = 0;
  struct Totals {
    int64_t delivered = 0, wait_ns = 0, busy_ns = 0, cpu_ns = 0;
  } totals_;
};

}  // namespace stoker::data
