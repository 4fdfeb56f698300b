#include "data/runtime/tuner.h"

#include <algorithm>

namespace stoker::data {

namespace {

constexpr double kWaits = 0.01;      // of the time: the consumer is held up
constexpr double kCalm = 0.002;      // it is not
constexpr double kWorthIt = 1.03;    // a step that gains less is taken back
constexpr double kBusyEnough = 0.8;  // of the workers' time: there is one too many
constexpr double kComputes = 0.6;    // of the busy time on a core: more than cores will not help
constexpr int kCalmWindows = 5;
constexpr int kLongestPause = 256;
constexpr int64_t kCoresToShare = 4;  // of fewer, one is too much to give

}  // namespace

int64_t cores_for_workers(int64_t available, bool feeds_gpu) {
  return feeds_gpu && available >= kCoresToShare ? available - 1 : available;
}

const TunerSettings& Tuner::observe(const TunerWindow& window) {
  if (window.seconds <= 0 || window.delivered <= 0) return settings_;
  double rate = window.delivered / window.seconds;
  double waits = window.wait_seconds / window.seconds;

  if (trial_ == Trial::workers || trial_ == Trial::depth) {
    bool helped = rate > rate_before_ * kWorthIt || waits < kWaits;
    if (!helped) {
      settings_ = before_;
      // A few more batches may be too few to show in the rate: next time it is a larger step.
      if (trial_ == Trial::depth) reach_ = std::min(reach_ * 4, limits_.most_depth);
      // What the other setting would have done is not known yet: it is tried at once.
      bool first = in_vain_ == Trial::none;
      in_vain_ = first ? trial_ : Trial::none;
      trial_ = Trial::none;
      if (first) return settings_;
      patience_ = next_pause_;
      next_pause_ = std::min(next_pause_ * 2, kLongestPause);
      return settings_;
    }
    next_pause_ = 4;
    reach_ = 2;
    in_vain_ = Trial::none;
    trial_ = Trial::none;
  } else if (trial_ == Trial::fewer) {
    if (waits > kWaits) {
      settings_ = before_;
      calm_ = -next_pause_;  // longer until the next attempt
      next_pause_ = std::min(next_pause_ * 2, kLongestPause);
    }
    trial_ = Trial::none;
  }

  calm_ = waits < kCalm ? calm_ + 1 : std::min(calm_, 0);
  if (waits > kWaits && patience_ > 0)
    --patience_;
  else if (waits > kWaits)
    consider_more(window, rate);
  else if (calm_ >= kCalmWindows)
    consider_fewer(window);
  return settings_;
}

int64_t Tuner::most_useful_workers(const TunerWindow& window) const {
  bool computes = window.cpu_seconds > kComputes * window.busy_seconds;
  return computes ? std::min(limits_.cores, limits_.most_workers) : limits_.most_workers;
}

// The consumer waits. Workers that are all busy: one more. Workers that have time left: batches
// come unevenly, so more of them have to lie ready.
void Tuner::consider_more(const TunerWindow& window, double rate) {
  before_ = settings_;
  rate_before_ = rate;
  bool all_busy = window.busy_seconds > 0.85 * double(settings_.workers) * window.seconds;
  int64_t most = most_useful_workers(window);
  bool can_raise_workers = limits_.workers && settings_.workers < most;
  bool can_raise_depth = limits_.depth && settings_.depth < limits_.most_depth;
  if (in_vain_ == Trial::depth) all_busy = true;
  if (in_vain_ == Trial::workers && can_raise_depth) can_raise_workers = false;
  if (can_raise_workers && (all_busy || !can_raise_depth)) {
    settings_.workers =
        std::min(most, settings_.workers + std::max<int64_t>(1, settings_.workers / 2));
    settings_.depth =
        limits_.depth ? std::max(settings_.depth, std::min(settings_.workers, limits_.most_depth))
                      : settings_.depth;
    trial_ = Trial::workers;
  } else if (can_raise_depth) {
    settings_.depth = std::min(limits_.most_depth, settings_.depth * reach_);
    trial_ = Trial::depth;
  }
}

void Tuner::consider_fewer(const TunerWindow& window) {
  if (!limits_.workers || settings_.workers <= 1) return;
  // Batches that lie ready would hide for a while that there are too few workers: the share is
  // that of those who would be left.
  double share = window.busy_seconds / (double(settings_.workers - 1) * window.seconds);
  if (share > kBusyEnough) return;
  before_ = settings_;
  --settings_.workers;
  trial_ = Trial::fewer;
  calm_ = 0;
}

}  // namespace stoker::data
