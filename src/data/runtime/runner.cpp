#include "data/runtime/runner.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/thread_time.h"
#include "base/tracing.h"
#include "data/ops/rows_into.h"
#include "data/runtime/writers.h"

namespace stoker::data {

namespace {

constexpr int64_t kClaimNs = 50'000;  // how much work one claim of parts should be
constexpr int64_t kMostPerWork = 64;  // elements that share one entry of the window
constexpr int kSpins = 500;           // pauses for which a worker looks for tickets to come
constexpr int64_t kShareOfStage = 8;  // of the budget: what one inner stage may hold
constexpr size_t kMostAhead = 2048;   // delivered before a slow one: keeps a state below 64 KB

}  // namespace

// One entry of the window: a batch that is made row by row, or a few elements.
struct Runner::Work {
  int64_t epoch = 0;
  int64_t number = 0;           // ticket number of the first, within the epoch
  std::vector<Ticket> tickets;  // one for a batch
  bool by_rows = false;
  int64_t parts = 0, claimed = 0, done = 0, delivered = 0;
  BatchRows rows;               // by rows
  std::vector<Batch> elements;  // otherwise
  std::vector<Made> made;
  std::map<int64_t, std::exception_ptr> errors;  // by part
  bool epoch_end = false;

  bool complete() const { return epoch_end || done == parts; }
  int64_t outcomes() const { return by_rows ? 1 : parts; }
  // Of one outcome; a batch fails with its first bad row. Without parts: of the tickets.
  std::exception_ptr error_of(int64_t outcome) const {
    auto found = by_rows ? errors.begin() : errors.find(outcome);
    return found == errors.end() ? nullptr : found->second;
  }
};

struct Runner::State : std::enable_shared_from_this<Runner::State> {
  struct Claim {
    Work* work = nullptr;
    int64_t begin = 0, end = 0;
  };

  State(Planned planned, const ElementSpec& element_spec, const Options& runner_options,
        ThreadPool* thread_pool, std::shared_ptr<MemoryBudget> memory_budget, HostMemory& memory,
        RunnerStats& runner_stats)
      : maker(std::move(planned.maker)),
        may_drop(planned.may_drop),
        tickets(planned.tickets()),
        spec(element_spec),
        options(runner_options),
        pool(thread_pool),
        budget(std::move(memory_budget)),
        blocks(std::make_shared<BlockPool>(budget, memory)),
        stats(runner_stats) {
    budget->add_idle(blocks);
    for (const TensorSpec& component : spec)
      if (component.shape.is_known())
        element_bytes += int64_t(BlockPool::rounded(size_t(component.shape.elements()) *
                                                    stoker::size_of(component.dtype)));
  }

  bool synchronous() const { return options.workers == 0; }

  // --- taking tickets; by one thread at a time, without the lock ---

  // Elements of one entry: as many as make an entry worth its lock.
  int64_t per_work() const {
    if (synchronous() || mean_part_ns <= 0) return 1;
    return std::clamp(kClaimNs / 2 / std::max<int64_t>(mean_part_ns, 1), int64_t(1),
                      std::min(kMostPerWork, most_ahead()));
  }

  // A stage inside of a chain leaves the budget to those that follow: nothing it holds could be
  // given back before they have taken it.
  int64_t most_ahead() const {
    if (!options.helps) return options.depth;
    if (budget->used() > budget->limit() / 8 * 7) return 1;  // caches take three quarters
    int64_t share = budget->limit() / kShareOfStage / std::max<int64_t>(element_bytes, 1);
    return std::clamp<int64_t>(share, 1, std::max<int64_t>(options.depth, 1));
  }

  bool has_room() const {
    size_t limit = synchronous() ? 1 : size_t(most_ahead());
    return in_window < limit && position.ahead.size() < kMostAhead;
  }

  bool can_open() const { return !stopping && !pulling && !exhausted && !failed && has_room(); }

  // The next ticket. An error waits until those before it have been handed out.
  bool next_ticket(Ticket& ticket, const Work& work) {
    try {
      return tickets->next(ticket);
    } catch (...) {
      if (work.tickets.empty()) throw;
      pending_error = std::current_exception();
      return false;
    }
  }

  // The next entry, or null when memory has to come back first; `regardless`: take it.
  std::unique_ptr<Work> pull(int64_t most, bool regardless) {
    if (pending_error) std::rethrow_exception(pending_error);
    auto work = std::make_unique<Work>();
    work->epoch = epoch_pulled;
    work->number = number_pulled;
    Ticket ticket;
    while (int64_t(work->tickets.size()) < most && !kept_ticket && next_ticket(ticket, *work)) {
      if (!already.empty() && already.erase(number_pulled) > 0) {
        if (work->tickets.empty()) work->number = number_pulled + 1;
        ++number_pulled;
        if (!work->tickets.empty()) break;  // numbers of one entry follow each other
        continue;
      }
      ++number_pulled;
      work->tickets.push_back(std::move(ticket));
      ticket = {};
      if (work->tickets.size() == 1) {
        int64_t rows = maker->rows(work->tickets[0]);
        if (rows > 0) {
          work->by_rows = true;
          work->parts = rows;
          break;
        }
      }
    }
    if (kept_ticket) {
      work = std::move(kept_ticket);
    } else if (work->tickets.empty()) {
      work->epoch_end = true;
      return work;
    }
    if (work->by_rows) {
      if (!work->rows.open(spec, work->parts, *blocks, *budget, regardless)) {
        kept_ticket = std::move(work);
        return nullptr;
      }
    } else {
      work->parts = int64_t(work->tickets.size());
      work->elements.resize(size_t(work->parts));
    }
    work->made.resize(size_t(work->by_rows ? 1 : work->parts));
    return work;
  }

  // Opens one entry. False: nothing to open now.
  bool open(std::unique_lock<std::mutex>& lock, bool regardless = false) {
    if (!can_open()) return false;
    pulling = true;
    int64_t most = per_work();
    lock.unlock();
    std::unique_ptr<Work> work;
    std::exception_ptr error;
    try {
      work = pull(most, regardless);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    pulling = false;
    starved = work == nullptr && !error;
    if (error) {
      work = std::make_unique<Work>();
      work->epoch = epoch_pulled;
      work->number = number_pulled;
      work->errors[0] = error;
      exhausted = true;
    } else if (work == nullptr) {
      return false;
    } else if (work->epoch_end) {
      end_epoch();
    }
    add(std::move(work));
    return true;
  }

  void end_epoch() {
    ++epoch_pulled;
    number_pulled = 0;
    if (epochs_left > 0 && --epochs_left == 0)
      exhausted = true;
    else
      new_epoch = true;
  }

  // How much of the window it takes; an end of an epoch counts, so that empty epochs end too.
  static size_t places_of(const Work& work) {
    return work.by_rows ? 1 : size_t(std::max<int64_t>(work.parts, 1));
  }

  void add(std::unique_ptr<Work> work) {
    in_window += places_of(*work);
    bool ready = work->complete();
    window.push_back(std::move(work));
    if (ready) arrived.notify_all();
  }

  // --- making; many threads ---

  bool claim(std::unique_lock<std::mutex>& lock, Claim& out) {
    while (true) {
      if (stopping) return false;
      if (!window.empty() && window.back()->claimed < window.back()->parts) {
        Work& work = *window.back();
        out = {&work, work.claimed, std::min(work.parts, work.claimed + claim_size(work))};
        work.claimed = out.end;
        return true;
      }
      if (new_epoch && can_open()) begin_epoch(lock);
      if (!open(lock) && !see_end_of_pull(lock)) return false;
    }
  }

  // Somebody else is taking tickets, which is mostly done at once, while a worker that leaves has
  // to be called again. With equal elements workers meet here every time: 425 instead of 603
  // batches/s (16 elements of 200 us each, two workers on two cores).
  bool see_end_of_pull(std::unique_lock<std::mutex>& lock) {
    if (!pulling || synchronous()) return false;
    lock.unlock();
    for (int i = 0; i < kSpins && pulling.load(std::memory_order_relaxed); ++i)
      __builtin_ia32_pause();
    lock.lock();
    return !pulling;
  }

  void begin_epoch(std::unique_lock<std::mutex>& lock) {
    pulling = true;
    new_epoch = false;
    int64_t epoch = epoch_pulled;
    lock.unlock();
    std::exception_ptr error;
    try {
      tickets->begin(epoch);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    pulling = false;
    if (!error) return;
    auto work = std::make_unique<Work>();
    work->epoch = epoch;
    work->errors[0] = error;
    exhausted = true;
    add(std::move(work));
  }

  int64_t claim_size(const Work& work) const {
    if (synchronous()) return work.parts;
    if (mean_part_ns <= 0) return 1;
    int64_t fair = (work.parts + options.workers - 1) / options.workers;
    return std::clamp(kClaimNs / std::max<int64_t>(mean_part_ns, 1), int64_t(1),
                      std::max<int64_t>(fair, 1));
  }

  void make(const Claim& claim, Worker& worker) {
    Work& work = *claim.work;
    for (int64_t part = claim.begin; part < claim.end; ++part) {
      if (stop_now.load(std::memory_order_relaxed)) return;
      try {
        if (work.by_rows) {
          RowWriter row(work.rows, part);
          maker->hint_row(work.tickets[0], part + kRowsAhead);
          maker->make_row(work.tickets[0], part, row, worker);
        } else {
          TensorWriter element(spec, *blocks);
          work.made[size_t(part)] = maker->make(work.tickets[size_t(part)], element, worker);
          if (work.made[size_t(part)].kept) work.elements[size_t(part)] = element.take();
        }
      } catch (...) {
        std::lock_guard lock(mutex);
        work.errors[part] = std::current_exception();
        if (work.by_rows || !options.hands_errors_on) return;
      }
    }
  }

  void run(std::unique_lock<std::mutex>& lock, const Claim& claim, Worker& worker) {
    lock.unlock();
    bool measure_cpu = !synchronous();
    int64_t cpu = measure_cpu ? thread_cpu_ns() : 0, begin = steady_clock().now();
    make(claim, worker);
    int64_t ns = steady_clock().now() - begin;
    int64_t count = claim.end - claim.begin;
    stats.busy_ns.add(ns);
    trace_span(stats.name, begin, begin + ns);
    if (measure_cpu) stats.cpu_ns.add(thread_cpu_ns() - cpu);
    stats.items.add(count);
    lock.lock();
    int64_t mean = std::max<int64_t>(ns / count, 1);
    mean_part_ns = mean_part_ns <= 0 ? mean : (mean_part_ns * 7 + mean) / 8;
    claim.work->done += count;
    if (!claim.work->complete()) return;
    if (options.ordered ? window.front().get() == claim.work : true) arrived.notify_one();
  }

  std::unique_ptr<Worker> take_worker() {
    if (idle_workers.empty()) return std::make_unique<Worker>(budget.get());
    std::unique_ptr<Worker> worker = std::move(idle_workers.back());
    idle_workers.pop_back();
    return worker;
  }

  void work() {
    std::unique_lock lock(mutex);
    --queued;
    if (stopping || active >= options.workers) return;
    ++active;
    std::unique_ptr<Worker> worker = take_worker();
    Claim part;
    while (active <= options.workers && claim(lock, part)) {
      schedule();
      run(lock, part, *worker);
    }
    idle_workers.push_back(std::move(worker));
    --active;
    if (stopping || starved) arrived.notify_all();
  }

  // Calls workers while there is something for one more.
  void schedule() {
    if (synchronous() || stopping) return;
    bool unclaimed = !window.empty() && window.back()->claimed < window.back()->parts;
    if (!unclaimed && !can_open()) return;
    if (active + queued >= options.workers || queued > 0) return;
    ++queued;
    pool->submit([self = shared_from_this()] { self->work(); });
  }

  // --- handing over; the consumer ---

  std::deque<std::unique_ptr<Work>>::iterator ready_work() {
    for (auto at = window.begin(); at != window.end(); ++at) {
      if (at == window.begin() && (*at)->complete()) return at;
      if ((*at)->epoch_end || options.ordered) break;
      if ((*at)->complete() && (*at)->errors.empty()) return at;
    }
    return window.end();
  }

  void pass(int64_t number) {
    if (!options.ordered) order.push_back(number);
    if (number == position.passed)
      ++position.passed;
    else
      position.ahead.insert(number);
    while (!position.ahead.empty() && *position.ahead.begin() == position.passed) {
      position.ahead.erase(position.ahead.begin());
      ++position.passed;
    }
  }

  void retire(const std::deque<std::unique_ptr<Work>>::iterator& at) {
    in_window -= places_of(**at);
    window.erase(at);
    // Waking a worker costs the consumer some microseconds: once for half a window, not each time.
    if (active > 0 || 2 * in_window <= size_t(options.depth)) schedule();
  }

  // True when there was an outcome; false: this entry has nothing more.
  bool hand_over(Work& work, Batch& out, Made& made, std::exception_ptr& error) {
    if (work.parts == 0) fail_with(work.error_of(0));
    while (work.delivered < work.outcomes()) {
      int64_t part = work.delivered++;
      error = work.error_of(part);
      if (error && !options.hands_errors_on) fail_with(error);
      made = error ? Made{work.epoch, work.number + part} : work.made[size_t(part)];
      pass(work.number + part);
      if (error) return true;
      if (!made.kept) continue;
      if (work.by_rows) {
        made = maker->name_of(work.tickets[0]);
        out = work.rows.take();
      } else {
        out = std::move(work.elements[size_t(part)]);
      }
      return true;
    }
    return false;
  }

  [[noreturn]] void fail_with(const std::exception_ptr& error) {
    failed = error;
    std::rethrow_exception(error);
  }

  Outcome next(Batch& out, Made& made, std::exception_ptr& error) {
    std::unique_lock lock(mutex);
    if (failed) std::rethrow_exception(failed);
    while (true) {
      auto at = ready_work();
      if (at == window.end()) {
        if (exhausted && window.empty()) return Outcome::finished;
        wait(lock);
        continue;
      }
      Work& work = **at;
      if (work.epoch_end) {
        position = {work.epoch + 1, 0, {}};
        order.clear();
        retire(at);
        return exhausted && window.empty() ? Outcome::finished : Outcome::epoch_end;
      }
      bool filled = hand_over(work, out, made, error);
      if (work.delivered >= work.outcomes()) retire(at);
      if (!filled) continue;
      stats.delivered.add();
      return Outcome::element;
    }
  }

  // Until something has changed that may let the consumer go on.
  void wait(std::unique_lock<std::mutex>& lock) {
    if (synchronous() || options.helps) {
      if (make_oneself(lock)) return;
      if (ready_work() != window.end() || (exhausted && window.empty())) return;
      // Whoever asks holds what others wait for: one entry is always allowed.
      if (options.helps && starved && idle() && open(lock, /*regardless=*/true)) return;
    } else if (starved && idle() && open(lock)) {
      schedule();  // what the consumer let go of was enough
      return;
    }
    if (starved && idle()) throw_starved();
    schedule();
    int64_t begin = steady_clock().now();
    arrived.wait(lock);
    stats.waited.add();
    stats.wait_ns.add(steady_clock().now() - begin);
  }

  // The consumer makes what it waits for. Without workers that is waiting, too: nothing else runs
  // meanwhile.
  bool make_oneself(std::unique_lock<std::mutex>& lock) {
    bool counts = synchronous() && !options.helps;
    int64_t begin = counts ? steady_clock().now() : 0;
    Claim part;
    if (!claim(lock, part)) return false;
    if (!consumer_worker) consumer_worker = take_worker();
    schedule();
    run(lock, part, *consumer_worker);
    if (counts) {
      stats.waited.add();
      stats.wait_ns.add(steady_clock().now() - begin);
    }
    return true;
  }

  bool idle() const { return window.empty() && active == 0 && !pulling; }

  [[noreturn]] void throw_starved() const {
    throw Error(fmt::format(
        "{}: the byte budget is full: {} of {} bytes are held by batches that the consumer keeps, "
        "by shuffle buffers and by caches, and the next batch does not fit; keep fewer batches, or "
        "raise the budget with with_budget({{.bytes = …}})",
        options.title, budget->used(), budget->limit()));
  }

  const MakerRef maker;
  const bool may_drop;
  std::unique_ptr<Tickets> tickets;
  const ElementSpec spec;
  Options options;
  ThreadPool* const pool;
  const std::shared_ptr<MemoryBudget> budget;
  const std::shared_ptr<BlockPool> blocks;
  RunnerStats& stats;

  mutable std::mutex mutex;
  std::condition_variable arrived;
  std::deque<std::unique_ptr<Work>> window;
  size_t in_window = 0;  // batches, or elements
  std::atomic<bool> pulling = false;
  bool stopping = false, exhausted = true, new_epoch = false, starved = false;
  std::atomic<bool> stop_now = false;
  int64_t active = 0, queued = 0;
  int64_t epoch_pulled = 0, number_pulled = 0, epochs_left = 0;
  std::unique_ptr<Work> kept_ticket;  // pulled, but there was no memory for it
  std::exception_ptr pending_error;   // of the tickets, behind those that were pulled
  std::set<int64_t> already;          // tickets of this epoch that were delivered before a restore
  int64_t mean_part_ns = 0;
  int64_t element_bytes = 0;  // of components whose shape is known
  Position position;
  std::vector<int64_t> order;  // of this epoch, where it is not that of the tickets
  std::exception_ptr failed;
  std::vector<std::unique_ptr<Worker>> idle_workers;
  std::unique_ptr<Worker> consumer_worker;
};

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
