// Time as a seam: everything that measures or waits for a deadline takes a Clock, so that tests can
// move time themselves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace stoker {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since some fixed moment; never goes backwards. Thread-safe.
  virtual int64_t now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  int64_t now() const override {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }
};

inline const Clock& steady_clock() {
  static const SteadyClock clock;
  return clock;
}

// Stands still until it is advanced.
class FakeClock final : public Clock {
 public:
  int64_t now() const override { return now_.load(std::memory_order_relaxed); }
  void advance(int64_t nanoseconds) { now_.fetch_add(nanoseconds, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> now_ = 0;
};

}  // namespace stoker
