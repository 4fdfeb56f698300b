// What a running pipeline has to say to its user: a cache that is rebuilt, a disk that is full.
// Said from any thread; whoever takes the batches hands it on to Context::out, so that lines never
// get between others.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace stoker::data {

class Notices {
 public:
  void say(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    pending_.store(true, std::memory_order_release);
  }
  // Whether take() would return something; costs a load.
  bool pending() const { return pending_.load(std::memory_order_acquire); }
  // Those that were not taken yet.
  std::vector<std::string> take() {
    std::lock_guard lock(mutex_);
    std::vector<std::string> fresh(lines_.begin() + std::ptrdiff_t(taken_), lines_.end());
    taken_ = lines_.size();
    pending_.store(false, std::memory_order_release);
    return fresh;
  }
  std::vector<std::string> all() const {
    std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  size_t taken_ = 0;
  std::atomic<bool> pending_ = false;
};

}  // namespace stoker::data
