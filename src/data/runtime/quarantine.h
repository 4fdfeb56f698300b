// The bad elements of an iteration, and how many there may be. Thread-safe.
#pragma once

#include <mutex>

#include <stoker/dataset.h>

namespace stoker::data {

class Quarantine {
 public:
  Quarantine(std::string stage, ErrorOptions options)
      : stage_(std::move(stage)), options_(options) {}

  void count_good() { made_.fetch_add(1, std::memory_order_relaxed); }
  // Notes the exception in flight. Error when that is one too many.
  void add(int64_t epoch, int64_t index);
  std::vector<BadElement> list() const;

 private:
  static constexpr int64_t kRateFrom = 100;  // elements; a rate of fewer says little
  static constexpr size_t kKept = 10'000;

  std::string stage_;
  ErrorOptions options_;
  std::atomic<int64_t> made_ = 0;
  mutable std::mutex mutex_;
  int64_t epoch_ = -1, in_epoch_ = 0, all_ = 0;
  std::vector<BadElement> bad_;
};

}  // namespace stoker::data
