// A place for something that is mostly absent, a tracer or a profiler: looking costs one relaxed
// load. Who took what stands there keeps it alive, so that it may be taken away at any moment.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace stoker {

template <class T>
class Hook {
 public:
  constexpr Hook() = default;
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  bool empty() const { return !filled_.load(std::memory_order_relaxed); }
  std::shared_ptr<T> get() const {
    if (empty()) return nullptr;
    std::lock_guard lock(mutex_);
    return what_;
  }
  // Null takes it away; those who have it may still be using it.
  void set(std::shared_ptr<T> what) {
    std::lock_guard lock(mutex_);
    what_.swap(what);
    filled_.store(what_ != nullptr, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> filled_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<T> what_;
};

}  // namespace stoker
