// Optimiser state that the replicas of all processes share (graph/state_shards.h), as one process
// sees it: what its own replicas keep is in the variables; the other variables hold nothing after a
// training step, until the state is collected.
#pragma once

#include <memory>
#include <span>

#include "distribute/transport.h"
#include "graph/state_shards.h"
#include "train/step/distribution.h"

namespace stoker::distribute {

class SharedState {
 public:
  // `transport`: null where there is one process. `replicas`: of each process.
  SharedState(int64_t ranks, int64_t replicas, Transport* transport)
      : shards_(std::make_shared<StateShards>(ranks)), replicas_(replicas), transport_(transport) {}

  const std::shared_ptr<StateShards>& shards() const { return shards_; }
  // Whether one replica alone has this variable.
  bool has(const Variable& variable) const { return shards_->keeper_of(variable) >= 0; }

  // A training step has run: what other processes keep is out of date here, and goes.
  void stepped();
  // Collective. These processes hold all of it until the next step.
  void collect(StateAt at);
  // The process whose contents of a variable count: its keeper's, or 0 where that one has them too.
  int source_of(const Variable& variable) const;
  void set_whole() { held_ = Held::everywhere; }  // after a broadcast of everything

 private:
  enum class Held : uint8_t { by_keepers, by_first, everywhere };
  int process_of(int64_t rank) const { return int(rank / replicas_); }
  bool one_process() const { return transport_ == nullptr || transport_->processes() == 1; }

  std::shared_ptr<StateShards> shards_;
  int64_t replicas_;
  Transport* transport_;
  Held held_ = Held::everywhere;
};

}  // namespace stoker::distribute
