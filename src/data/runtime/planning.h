// From the description of a dataset to what runs: every node turns the plan of its inputs into its
// own. What a node repairs or refuses on the way is noted for explain().
#pragma once

#include <map>

#include "base/thread_pool.h"
#include "data/node.h"
#include "data/runtime/budget.h"
#include "data/runtime/making.h"
#include "data/runtime/notices.h"
#include "data/runtime/statistics.h"

namespace stoker::data {

// How the makers of a fused chain may be run.
struct WorkLimits {
  bool some_auto = false;    // a map said AUTOTUNE
  bool some_stated = false;  // a map said a number
  int64_t workers = 1;       // the largest number that a map said
  bool ordered = true;
  std::optional<int64_t> depth = {};  // elements ahead of the consumer; none: not set

  bool tuned() const { return some_auto || !some_stated; }
  void join(const WorkLimits& other) {
    some_auto |= other.some_auto;
    some_stated |= other.some_stated;
    workers = std::max(workers, other.workers);
    ordered &= other.ordered;
  }
};

struct Planned {
  MakerRef maker;
  std::optional<int64_t> length = {};    // random access; the tickets are (epoch, 0 … length - 1)
  std::unique_ptr<Tickets> stream = {};  // otherwise
  bool may_drop = false;                 // some tickets make nothing
  WorkLimits limits = {};
  std::string replay = {};  // why a restore has to make elements again; empty: it need not

  // The stream, or a count for random access; moves out.
  std::unique_ptr<Tickets> tickets() {
    return length ? std::make_unique<CountedTickets>(*length) : std::move(stream);
  }
};

// An error policy's counters and list, shared by all who meet bad elements.
class Quarantine;

class PlanContext {
 public:
  PlanContext(uint64_t run_seed, bool run_as_written, ThreadPool* run_pool,
              std::shared_ptr<MemoryBudget> run_budget, Statistics& run_statistics)
      : seed(run_seed),
        as_written(run_as_written),
        pool(run_pool),
        budget(std::move(run_budget)),
        statistics(run_statistics) {}

  // The plan of input `i`; branches of zip and concatenate get random numbers of their own. Elements
  // that a sliced walk leaves out where they stand are left out before.
  Planned plan_input(const Node& node, size_t i = 0);
  // The same for ops to which it does not matter that some positions make nothing.
  Planned plan_input_with_gaps(const Node& node, size_t i = 0);
  // Key of the random numbers of this node.
  uint64_t key(const Node& node) const;
  size_t new_scratch() { return scratch_++; }
  void note(std::string text) { notes.push_back(std::move(text)); }

  // Makes the elements of a plan, in parallel, and hands them on as held ones: what a filter, a
  // generator's consumer or as-written mode needs.
  Planned materialised(Planned planned, const Node& node);

  // While it lives, inputs stay random access also as written: a shuffle needs positions.
  class KeepPositions {
   public:
    explicit KeepPositions(PlanContext& context) : context_(context) { ++context_.keep_positions_; }
    ~KeepPositions() { --context_.keep_positions_; }
    KeepPositions(const KeepPositions&) = delete;
    KeepPositions& operator=(const KeepPositions&) = delete;

   private:
    PlanContext& context_;
  };
  // Every stage on its own, with its elements in memory.
  bool unfused() const { return as_written && keep_positions_ == 0; }

  const uint64_t seed;
  const bool as_written;
  ThreadPool* const pool;
  const std::shared_ptr<MemoryBudget> budget;
  Statistics& statistics;
  bool retuned = false;               // stated numbers of workers are not obeyed
  const Node* cache_after = nullptr;  // what comes out of it is kept in memory
  std::shared_ptr<void> kept;         // what is kept there, from an earlier walk or of this one
  bool seed_drawn = false;            // not set by the user
  std::vector<std::string> notes;
  std::shared_ptr<Notices> notices = std::make_shared<Notices>();
  std::vector<std::shared_ptr<Quarantine>> quarantines;

  // The part of one of several ranks; none: all. See slicing.h.
  std::optional<BatchSlice> slice = {};
  AutoShardPolicy policy = AutoShardPolicy::automatic;
  int64_t cores = 1;           // for workers of one stage
  bool runs_all = false;       // some elements are made or read before it is known who needs them
  bool gaps = false;           // on_error(skip) leaves elements out where they stand
  bool whole_batches = false;  // some batches are made whole for a slice of them
  int64_t source_files = 0;    // of the source with the most
  // AutoShardPolicy::file. A source of files reads its part: how many it has, and which are this
  // rank's: first, first + slice.size, … ValueError where there are too few.
  bool shares_files(const Node& source, int64_t files);
  bool files_shared = false;
  // The rows that the outermost batch of `size` has on this rank: all, but for AutoShardPolicy::file.
  int64_t rows_of_batch(int64_t size);
  bool batch_seen = false;

 private:
  uint64_t branch_ = 0;
  size_t scratch_ = 0;
  int keep_positions_ = 0;
};

// A maker for held elements.
MakerRef held_maker();

// Elements with random access as they were made in epoch 0, kept while the budget has room. Those
// of context.kept need not be made again.
Planned kept_in_memory(Planned planned, PlanContext& context);

}  // namespace stoker::data
