// The bytes a pipeline holds, all of them: batches, elements on their way, shuffle buffers,
// scratch, cache. Nothing here waits: whoever wants more asks first, and holds back when there is
// no room. Memory that lies idle to be used again is given back when others need room. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace stoker::data {

// Holds memory that it could do without.
class IdleMemory {
 public:
  virtual ~IdleMemory() = default;
  virtual void give_back() = 0;
};

class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t limit) : limit_(limit) {}

  int64_t limit() const { return limit_; }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  bool has_room(int64_t bytes) const { return used() + bytes <= limit_; }

  // Asks those who hold idle memory for it where there is no room.
  bool make_room(int64_t bytes) {
    if (has_room(bytes)) return true;
    std::lock_guard lock(mutex_);
    std::erase_if(idle_, [](const auto& holder) { return holder.expired(); });
    for (const auto& holder : idle_)
      if (auto memory = holder.lock()) memory->give_back();
    return has_room(bytes);
  }
  void add_idle(std::weak_ptr<IdleMemory> holder) {
    std::lock_guard lock(mutex_);
    std::erase_if(idle_, [](const auto& other) { return other.expired(); });
    idle_.push_back(std::move(holder));
  }

  // What caches take: a quarter of the budget stays for what has to move.
  bool try_charge_cache(int64_t bytes) {
    int64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used + bytes > limit_ - limit_ / 4) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    note(used + bytes);
    return true;
  }
  void charge(int64_t bytes) { note(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes); }
  void release(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  void note(int64_t used) {
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < used && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
    }
  }

  const int64_t limit_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<IdleMemory>> idle_;
  std::atomic<int64_t> used_ = 0, peak_ = 0;
};

}  // namespace stoker::data
