// The inside of a Runner: the window of entries, and what its threads do with them. Taking tickets
// is in runner_tickets.cpp, making in runner_making.cpp, handing over in runner_delivery.cpp.
// Whatever takes a `lock` is called with it held and returns with it held.
#pragma once

#include "data/runtime/runner.h"
#include "data/runtime/writers.h"

namespace stoker::data {

inline constexpr int64_t kClaimNs = 50'000;  // how much work one claim of parts should be

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
  std::set<int64_t> dropped;                     // rows that a maker dropped
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

  int64_t per_work() const;
  int64_t most_ahead() const;
  bool has_room() const;
  bool can_open() const { return !stopping && !pulling && !exhausted && !failed && has_room(); }
  bool next_ticket(Ticket& ticket, const Work& work);
  std::unique_ptr<Work> pull(int64_t most, bool regardless);
  bool open(std::unique_lock<std::mutex>& lock, bool regardless = false);
  void begin_epoch(std::unique_lock<std::mutex>& lock);
  void end_epoch();
  // How much of the window it takes; an end of an epoch counts, so that empty epochs end too.
  static size_t places_of(const Work& work) {
    return work.by_rows ? 1 : size_t(std::max<int64_t>(work.parts, 1));
  }
  void add(std::unique_ptr<Work> work);

  // --- making; many threads ---

  bool claim(std::unique_lock<std::mutex>& lock, Claim& out);
  bool see_end_of_pull(std::unique_lock<std::mutex>& lock);
  int64_t claim_size(const Work& work) const;
  // Rows from `begin` on, many at a time, as far as the maker can; how many.
  int64_t make_runs(Work& work, int64_t begin, int64_t end, Worker& worker) const;
  void make(const Claim& claim, Worker& worker);
  void run(std::unique_lock<std::mutex>& lock, const Claim& claim, Worker& worker);
  std::unique_ptr<Worker> take_worker();
  void work();
  void schedule();

  // --- handing over; the consumer ---

  std::deque<std::unique_ptr<Work>>::iterator ready_work();
  void pass(int64_t number);
  void retire(const std::deque<std::unique_ptr<Work>>::iterator& at);
  bool hand_over(Work& work, Batch& out, Made& made, std::exception_ptr& error);
  Batch without_rows(const Ticket& ticket);
  [[noreturn]] void fail_with(const std::exception_ptr& error);
  Outcome next(Batch& out, Made& made, std::exception_ptr& error);
  void wait(std::unique_lock<std::mutex>& lock);
  bool make_oneself(std::unique_lock<std::mutex>& lock);
  bool idle() const { return window.empty() && active == 0 && !pulling; }
  [[noreturn]] void throw_starved() const;

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

}  // namespace stoker::data
