// Prefetches elements or batches for a consumer, on a pool, in a bounded window. Workers take
// tickets one thread at a time and make what they stand for at the same time; the rows of a batch
// are shared among workers and written in place. Elements come out in the order of their tickets,
// or, unordered, as they become ready within an epoch. No thread is owned here: without work,
// workers go back to the pool.
//
// Locking: one mutex over the window; never held while tickets are taken or elements are made.
// A consumer that is itself a worker of the same pool sets `helps`: it makes what it waits for when
// no thread has begun, so that a chain of runners cannot wait for a thread that never comes.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <set>

#include "base/host_memory.h"
#include "data/runtime/blocks.h"
#include "data/runtime/planning.h"
#include "data/runtime/worker.h"

namespace stoker::data {

class Runner {
 public:
  struct Options {
    std::string title;    // of the dataset or stage, for messages
    int64_t workers = 1;  // 0: the consumer makes everything itself when it asks
    int64_t depth = 2;    // batches, or elements, ahead of the consumer; at least 1 with workers
    bool ordered = true;
    bool helps = false;
    bool hands_errors_on = false;  // what a maker throws is an outcome like others, not the end
    bool keeps_dropped = false;    // what a maker drops is a batch without rows
  };
  enum class Outcome { element, epoch_end, finished };
  // Where a walk stands: tickets passed in this epoch, and those delivered beyond them.
  struct Position {
    int64_t epoch = 0, passed = 0;
    std::set<int64_t> ahead;
  };

  Runner(Planned planned, const ElementSpec& spec, const Options& options, ThreadPool* pool,
         std::shared_ptr<MemoryBudget> budget, HostMemory& memory, RunnerStats& stats);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Starts anew with `epochs` epochs (0: without end).
  void begin(const Position& from, int64_t epochs);
  // The next element; waits for it. Throws what a maker threw, and again at every later call; a
  // runner that hands errors on sets `error` instead and goes on. What tickets throw is the end.
  Outcome next(Batch& out, Made& made, std::exception_ptr& error);

  Position position() const;
  std::vector<int64_t> order() const;  // ticket numbers delivered in this epoch; unordered only
  void set_workers(int64_t workers);
  void set_depth(int64_t depth);
  int64_t workers() const;
  int64_t depth() const;

 private:
  struct Work;
  struct State;
  void stop();

  std::shared_ptr<State> state_;
};

}  // namespace stoker::data
