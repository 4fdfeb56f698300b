// The bad elements of an iteration, and how many there may be. Thread-safe. Counts each epoch on
// its own: workers may be at the end of one and at the beginning of the next.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include <stoker/dataset.h>

namespace stoker::data {

class Quarantine {
 public:
  Quarantine(std::string stage, ErrorOptions options)
      : stage_(std::move(stage)), options_(options) {}

  void count_good(int64_t epoch) { ++counts_of(epoch).good; }
  // Notes the exception in flight, under its own address where it has one. Error when that is one
  // too many in this epoch.
  void add(int64_t epoch, int64_t index);
  // Takes over what another one, whose limits have been kept, has noted.
  void absorb(const std::vector<BadElement>& bad);
  std::vector<BadElement> list() const;

 private:
  static constexpr int64_t kRateFrom = 100;  // elements; a rate of fewer says little
  static constexpr size_t kKept = 10'000;

  static constexpr size_t kEpochs = 8;  // that workers can be in at the same time

  struct Epoch {
    std::atomic<int64_t> number = -1, good = 0, bad = 0;
  };
  Epoch& counts_of(int64_t epoch) {
    Epoch& counts = epochs_[size_t(epoch) % kEpochs];
    if (counts.number.load(std::memory_order_relaxed) != epoch) enter(epoch);
    return counts;
  }
  void enter(int64_t epoch);

  std::string stage_;
  ErrorOptions options_;
  std::array<Epoch, kEpochs> epochs_;
  mutable std::mutex mutex_;
  std::vector<BadElement> bad_;
};

}  // namespace stoker::data
