// Threads that run the replicas of one process side by side: the caller runs the first one, and each
// of the others has a thread of its own for as long as the team lives, so that whatever an engine
// keeps per thread stays with its replica.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace stoker::distribute {

class ReplicaTeam {
 public:
  explicit ReplicaTeam(int replicas);
  ~ReplicaTeam();
  ReplicaTeam(const ReplicaTeam&) = delete;
  ReplicaTeam& operator=(const ReplicaTeam&) = delete;

  int size() const { return int(threads_.size()) + 1; }

  // body(replica) for every replica, at the same time; returns when all have ended. The first that
  // throws calls `failed`, which must make the others end. Throws what the first one threw. One call
  // at a time.
  void run(const std::function<void(int)>& body,
           const std::function<void(const std::exception_ptr&)>& failed);

 private:
  void work(int replica);
  void run_one(int replica);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* body_ = nullptr;
  const std::function<void(const std::exception_ptr&)>* failed_ = nullptr;
  std::exception_ptr first_error_;
  uint64_t round_ = 0;
  int running_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;  // last: they use the rest
};

}  // namespace stoker::distribute
