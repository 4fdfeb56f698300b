#include "data/runtime/runner_state.h"

namespace stoker::data {

Runner::Runner(Planned planned, const ElementSpec& spec, const Options& options, ThreadPool* pool,
               std::shared_ptr<MemoryBudget> budget, HostMemory& memory, RunnerStats& stats)
    : state_(std::make_shared<State>(std::move(planned), spec, options, pool, std::move(budget),
                                     memory, stats)) {
  if (pool == nullptr) state_->options.workers = 0;
  stats.workers.set(double(state_->options.workers));
  stats.depth.set(double(state_->options.depth));
}

// Calls that the pool has still queued keep the state, and nothing else: runners further up the
// chain, whose elements these tickets are, end here too.
Runner::~Runner() {
  stop();
  state_->tickets.reset();
  state_->kept_ticket.reset();
  state_->window.clear();
  state_->idle_workers.clear();
  state_->consumer_worker.reset();
}

void Runner::stop() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->stop_now = true;
  state_->arrived.wait(lock, [this] { return state_->active == 0; });
}

void Runner::begin(const Position& from, int64_t epochs) {
  stop();
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.window.clear();
  state.in_window = 0;
  state.kept_ticket.reset();
  state.pending_error = nullptr;
  state.failed = nullptr;
  state.starved = false;
  state.position = from;
  state.order.clear();
  state.already = from.ahead;
  state.epoch_pulled = from.epoch;
  state.number_pulled = from.passed;
  state.epochs_left = epochs;
  state.exhausted = false;
  state.new_epoch = false;
  state.tickets->begin(from.epoch);
  if (from.passed > 0) state.tickets->skip(from.passed);
  state.stopping = false;
  state.stop_now = false;
  state.schedule();
}

Runner::Outcome Runner::next(Batch& out, Made& made, std::exception_ptr& error) {
  return state_->next(out, made, error);
}

Runner::Position Runner::position() const {
  std::lock_guard lock(state_->mutex);
  return state_->position;
}

std::vector<int64_t> Runner::order() const {
  std::lock_guard lock(state_->mutex);
  return state_->order;
}

void Runner::set_workers(int64_t workers) {
  std::lock_guard lock(state_->mutex);
  state_->options.workers = workers;
  state_->stats.workers.set(double(workers));
  state_->schedule();
}

void Runner::set_depth(int64_t depth) {
  std::lock_guard lock(state_->mutex);
  state_->options.depth = depth;
  state_->stats.depth.set(double(depth));
  state_->schedule();
}

int64_t Runner::workers() const {
  std::lock_guard lock(state_->mutex);
  return state_->options.workers;
}

int64_t Runner::depth() const {
  std::lock_guard lock(state_->mutex);
  return state_->options.depth;
}

}  // namespace stoker::data
