// Fills train's seam: the steps of one model on the replicas of this process, as part of all
// replicas of all processes.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distribute/local/replica_group.h"
#include "distribute/mirrors.h"
#include "distribute/replica_team.h"
#include "distribute/shared_state.h"
#include "train/fit/processes.h"
#include "train/step/distribution.h"

namespace stoker::distribute {

// What a strategy decides for all models that are compiled in its scope.
struct ReplicaPlan {
  std::vector<std::string> devices;  // of the replicas of this process, as Context::device has them
  int threads = 0;                   // per replica on a CPU; 0: the process's share of the cores
  std::string wire = "float32";
  int64_t bucket_bytes = 4 << 20;
  bool shard_optimizer = false;
  std::shared_ptr<ReplicaGroup> group;
  std::vector<std::shared_ptr<Communicator>> communicators;  // by replica: of NCCL, or the group's
  Transport* transport = nullptr;                            // null: one process
  std::mutex turn;  // one step at a time: sums of two models must not mix
};

class Replicated final : public Distribution {
 public:
  explicit Replicated(std::shared_ptr<ReplicaPlan> plan);

  int64_t ranks() const override { return shared_->plan->group->ranks(); }
  Made compile(const DistributedStep& step, const Context& context) override;
  Processes* processes() override;
  int64_t waited_ns() const override { return shared_->plan->group->waited_ns(); }
  std::shared_ptr<void> without_sums() override;
  double time_sums(std::span<const int64_t> bytes) override;
  uint64_t agreed(uint64_t value) override;
  void broadcast(std::span<const Variable> variables) override;
  void collect_state(StateAt at) override;

  // What its programs share; they may outlive the distribution.
  struct Shared {
    explicit Shared(std::shared_ptr<ReplicaPlan> given);
    std::shared_ptr<ReplicaPlan> plan;
    Mirrors mirrors;
    ReplicaTeam team;
    std::vector<std::shared_ptr<Arena>> arenas;  // by replica
    std::unique_ptr<SharedState> state;          // null: every replica keeps all of it
  };

 private:
  struct Part;
  std::unique_ptr<Program> compile_one(Graph& graph, int replica, const Context& context) const;
  std::vector<Variable> bind(Graph& graph, int replica) const;
  Made compile_prediction(const DistributedStep& step, const Context& context);

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Processes> processes_;  // made when it is asked for
};

}  // namespace stoker::distribute
