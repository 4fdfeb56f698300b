#include "data/runtime/quarantine.h"

#include <fmt/format.h>

#include "data/runtime/addresses.h"

namespace stoker::data {

void Quarantine::enter(int64_t epoch) {
  std::lock_guard lock(mutex_);
  Epoch& counts = epochs_[size_t(epoch) % kEpochs];
  if (counts.number == epoch) return;
  counts.good = counts.bad = 0;
  counts.number = epoch;
}

void Quarantine::add(int64_t epoch, int64_t index) {
  BadElement bad{epoch, index, current_message()};
  try {
    throw;
  } catch (const ElementError& error) {
    bad.epoch = error.epoch(), bad.index = error.index();
  } catch (...) {
    // It has no address of its own: the policy's place has to do.
  }
  Epoch& counts = counts_of(epoch);
  int64_t failed = ++counts.bad, seen = counts.good + failed;
  bool too_many = failed > options_.max_errors;
  bool too_often = seen >= kRateFrom && double(failed) > options_.max_rate * double(seen);
  std::lock_guard lock(mutex_);
  if (bad_.size() < kKept) bad_.push_back(bad);
  if (too_many || too_often)
    throw Error(
        fmt::format("{}: {} of {} elements of epoch {} could not be made, more than {}; "
                    "the last: {}",
                    stage_, failed, seen, epoch,
                    too_many ? fmt::format("max_errors = {}", options_.max_errors)
                             : fmt::format("max_rate = {}", options_.max_rate),
                    bad.message));
}

void Quarantine::absorb(const std::vector<BadElement>& bad) {
  std::lock_guard lock(mutex_);
  for (const BadElement& each : bad)
    if (bad_.size() < kKept) bad_.push_back(each);
}

std::vector<BadElement> Quarantine::list() const {
  std::lock_guard lock(mutex_);
  return bad_;
}

}  // namespace stoker::data
