// One walk over a dataset: the plan of its chain, the threads that run it, and its tuner.
#pragma once

#include "base/one_thread.h"
#include "data/runtime/plan.h"

namespace stoker::data {

class Iterator::Impl {
 public:
  Impl(const NodeRef& root, const IterateOptions& options, const PipelineKnobs& knobs = {},
       std::shared_ptr<void> kept = {});

  const Batch* next();
  int64_t epoch() const;
  bool finished() const { return finished_; }
  std::string state() const { return state(position()); }
  std::string state(const Runner::Position& position) const;
  Runner::Position position() const { return runner_->position(); }
  std::vector<int64_t> order() const { return runner_->order(); }
  const std::shared_ptr<Run>& run() const { return run_; }
  int64_t whole_rows() const { return whole_rows_; }  // BatchStream::whole_rows()

 private:
  void tune(int64_t now);
  void look_at_one_core();
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
  bool one_core_ = false;        // and not known yet whether workers compute on it
  std::ostream* out_ = nullptr;  // Context::out
  Batch current_;
  bool finished_ = false;
  int64_t whole_rows_ = -1;
  int64_t window_begin_ = 0;
  struct Totals {
    int64_t delivered = 0, wait_ns = 0, busy_ns = 0, cpu_ns = 0;
  } totals_;
};

}  // namespace stoker::data
