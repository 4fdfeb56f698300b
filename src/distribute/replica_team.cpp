#include "distribute/replica_team.h"

namespace stoker::distribute {

ReplicaTeam::ReplicaTeam(int replicas) {
  for (int replica = 1; replica < replicas; ++replica)
    threads_.emplace_back([this, replica] { work(replica); });
}

ReplicaTeam::~ReplicaTeam() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReplicaTeam::run_one(int replica) {
  try {
    (*body_)(replica);
  } catch (...) {
    std::exception_ptr error = std::current_exception();
    bool first = false;
    {
      std::lock_guard lock(mutex_);
      first = first_error_ == nullptr;
      if (first) first_error_ = error;
    }
    if (first) (*failed_)(error);
  }
}

void ReplicaTeam::work(int replica) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || round_ != seen; });
    if (ending_) return;
    seen = round_;
    lock.unlock();
    run_one(replica);
    lock.lock();
    if (--running_ == 0) changed_.notify_all();
  }
}

void ReplicaTeam::run(const std::function<void(int)>& body,
                      const std::function<void(const std::exception_ptr&)>& failed) {
  {
    std::lock_guard lock(mutex_);
    body_ = &body;
    failed_ = &failed;
    first_error_ = nullptr;
    running_ = int(threads_.size());
    ++round_;
  }
  changed_.notify_all();
  run_one(0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ == 0; });
  if (first_error_) std::rethrow_exception(first_error_);
}

}  // namespace stoker::distribute
