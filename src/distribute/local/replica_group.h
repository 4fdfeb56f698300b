// The replicas of one process, each run by its own thread, where they meet for their sums. With a
// transport the group is part of a larger one: its contributions go there together.
//
// A sum is begun by start_sum of the last replica and ends for all of them, in whatever order they
// wait for theirs; wait() of any replica gives up after the deadline, or when a replica has failed,
// with a CollectiveError that says why.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distribute/transport.h"

namespace stoker::distribute {

class ReplicaGroup : public std::enable_shared_from_this<ReplicaGroup> {
 public:
  struct Options {
    int replicas = 1;                // of this process
    Transport* transport = nullptr;  // null: no other processes; outlives the group
    std::chrono::milliseconds deadline{300'000};
  };
  explicit ReplicaGroup(const Options& options)
      : options_(options), next_(size_t(options.replicas), 0) {}

  int replicas() const { return options_.replicas; }
  int ranks() const;               // of all processes
  int rank_of(int replica) const;  // of a replica of this process
  // Of a replica of this process. Keeps the group alive.
  std::shared_ptr<Communicator> communicator(int replica);

  // Nanoseconds that the first replica has waited so far.
  int64_t waited_ns() const { return waited_ns_; }

  // All waits end with this reason, until recover().
  void fail(const std::string& reason);
  // No replica is in a sum: those that were begun and not finished are forgotten.
  void recover();

 private:
  class Member;
  // One sum of all replicas.
  struct Meeting {
    std::vector<SumCall> calls;                          // by replica
    int arrived = 0, claimed = 0, summed = 0, left = 0;  // claimed, summed: parts
    bool done = false;                                   // by the transport
    std::exception_ptr error = nullptr;
  };

  uint64_t start(int replica, const SumCall& call);
  void wait(uint64_t number);
  void hand_over(const std::shared_ptr<Meeting>& meeting);
  void sum_part(int part, const Meeting& meeting) const;
  std::shared_ptr<Meeting> meeting(uint64_t number);
  template <class Ready>
  void wait_until(std::unique_lock<std::mutex>& lock, const Meeting& meeting, uint64_t number,
                  const Ready& ready);
  std::string who_is_missing(const Meeting& meeting) const;

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Meeting>> meetings_;  // from number first_ on
  uint64_t first_ = 0;
  std::vector<uint64_t> next_;  // by replica: the number of its next sum
  std::string failure_;
  std::atomic<int64_t> waited_ns_ = 0;
};

}  // namespace stoker::distribute
