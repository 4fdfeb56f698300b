// How the steps of a model run on several replicas: the seam that src/distribute fills. A strategy's
// scope makes one distribution per model that is compiled inside of it; from then on the model's
// programs are made here, and nothing above them knows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <stoker/context.h>

#include "engine/backend.h"
#include "graph/replica.h"

namespace stoker {

class Processes;  // train/fit/processes.h

// A step to be divided among replicas.
struct DistributedStep {
  std::span<const TensorSpec> specs;  // of the batch that run() gets
  // Rows of the whole batch where `specs` are this process's part of it: as rows_of() divides it, or
  // any other where elements were left out; -1: they are the whole batch.
  int64_t whole = -1;
  bool predicts = false;  // no sums: its outputs are rows of predictions
  // The graph of one replica, for its rows.
  std::function<std::unique_ptr<Graph>(const Replica& replica, std::span<const TensorSpec> specs)>
      trace;
};

enum class StateAt : uint8_t { first_process, all_processes };

class Distribution {
 public:
  virtual ~Distribution() = default;
  virtual int64_t ranks() const = 0;  // replicas in sync, over all processes

  struct Made {
    std::unique_ptr<Graph> graph;  // of the first replica of this process
    std::unique_ptr<Program> program;
  };
  virtual Made compile(const DistributedStep& step, const Context& context) = 0;

  // The processes that share its batches; null: one, which has all of them.
  virtual Processes* processes() { return nullptr; }

  // Nanoseconds that the first replica of this process has waited for sums so far.
  virtual int64_t waited_ns() const { return 0; }
  // For measuring. While what it returns lives, steps leave their sums out; replicas then train apart.
  virtual std::shared_ptr<void> without_sums() { return nullptr; }
  // Seconds that sums of so many bytes each take, begun together, without a step. Collective.
  virtual double time_sums(std::span<const int64_t> bytes) { return (void)bytes, 0; }

  // Rank 0's value, on all processes: seeds.
  virtual uint64_t agreed(uint64_t value) = 0;
  // Makes all processes hold what rank 0 holds, before a training begins. Error where their models
  // differ.
  virtual void broadcast(std::span<const Variable> variables) = 0;
  // Collective. Where replicas share the optimiser's state, these processes can read all of it until
  // the next training step.
  virtual void collect_state(StateAt at) { (void)at; }
};

// The rows [begin, end) of a whole batch that replica `rank` of `ranks` has: as equal as possible,
// in order. The one rule: input pipelines that read only their part of a batch follow it.
struct RowRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};
inline RowRange rows_of(int64_t rows, int64_t rank, int64_t ranks) {
  return {rows * rank / ranks, rows * (rank + 1) / ranks};
}

// What compile() asks on the calling thread: the distribution of the innermost strategy scope for
// one more model; null outside of all scopes.
std::shared_ptr<Distribution> make_distribution();

// The one that all functions made in the innermost scope share; null outside of all scopes.
std::shared_ptr<Distribution> distribution_of_functions();

using DistributionMaker = std::function<std::shared_ptr<Distribution>()>;
// Until it goes, make_distribution() on this thread calls `make`. Scopes nest.
class DistributionScope {
 public:
  explicit DistributionScope(DistributionMaker make);
  ~DistributionScope();
  DistributionScope(const DistributionScope&) = delete;
  DistributionScope& operator=(const DistributionScope&) = delete;

 private:
  friend std::shared_ptr<Distribution> make_distribution();
  friend std::shared_ptr<Distribution> distribution_of_functions();
  DistributionMaker make_;
  std::shared_ptr<Distribution> of_functions_;  // once asked for
  DistributionScope* before_;
};

}  // namespace stoker
