#include "engine/cpu/team_use.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "engine/cpu/idle_team.h"
#include "engine/cpu/openmp.h"

namespace stoker::cpu {

namespace {

constexpr int kWarmUp = 8;  // steps of a new program, which find cold caches and cold memory
// Steps after a change that still use up batches made before it: a team looks fast as long as the
// pipeline need not work beside it. A pipeline holds 32 batches at most; long steps are no fewer
// than three.
constexpr int kSettle = 3, kMostSettle = 32;
constexpr int kRounds = 2;        // a candidate has to win in a row
constexpr double kBetter = 0.99;  // of the time of the best: less gain is not worth a change
constexpr double kHopeless = 2;   // times the best, and then some for an interruption
constexpr double kSlower = 2;     // times what it was when it was chosen: something has changed
constexpr int64_t kMs = 1'000'000, kShortestHold = 2000 * kMs, kLongestHold = 32'000 * kMs;
constexpr int64_t kInterruption = 5 * kMs, kSettleNs = 30 * kMs;
constexpr double kFlops = 3e10, kBandwidth = 1e10, kSmallStep = 0.01,
                 kSmallestStep = 0.002;  // of one core; s
constexpr int64_t kLeastBetween = 5 * kMs;
constexpr int64_t kLongStep = 100 * kMs;  // a trial of longer steps would cost more than it finds

bool user_chose_waiting() {
  static const bool chose =
      std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr;
  return chose;
}

// Programs that run in turns may want different things: the team's waiting changes seldom.
void set_waiting(bool sleep, int threads, int64_t now) {
  static std::atomic<bool> sleeping = false;
  static std::mutex mutex;
  static std::unique_ptr<IdleTeam> idle;
  static int64_t changed = 0;
  if (sleeping.load(std::memory_order_relaxed) == sleep || user_chose_waiting()) return;
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || now - changed < kLeastBetween) return;
  changed = now;
  sleeping = sleep;
  if (!sleep)
    idle.reset();
  else if (idle == nullptr)  // one thread more than cores; a team's caller is not counted
    idle = std::make_unique<IdleTeam>(std::max(omp_get_num_procs() - threads, 0) + 2);
}

}  // namespace

void TeamChooser::Window::add(int64_t ns) {
  ++steps;
  sum += ns;
  longest = std::max(longest, ns);
}

// Enough steps for a mean without the longest, and enough time to see what the pipeline does; long
// steps are few.
bool TeamChooser::Window::is_full() const {
  int64_t rest = sum - longest;
  return (steps >= 9 && rest >= 10 * kMs) || (steps >= 4 && rest >= 100 * kMs);
}

void TeamChooser::begin(Phase phase, TeamUse use) {
  phase_ = phase;
  use_ = use;
  window_ = {};
  trial_ = {};
  settled_ = 0;
  settled_ns_ = 0;
}

bool TeamChooser::is_settled() const {
  return settled_ >= kMostSettle || (settled_ >= kSettle && settled_ns_ >= kSettleNs);
}

bool TeamChooser::next_candidate() {
  ++candidates_;
  // Spinning last: in its worst case it is the worst.
  static constexpr TeamUse kOrder[] = {TeamUse::alone, TeamUse::sleeping, TeamUse::spinning};
  int left = candidates_;
  for (TeamUse use : kOrder) {
    if (use == best_ || (use == TeamUse::alone && !tries_alone_) || --left > 0) continue;
    other_ = use;
    return true;
  }
  return false;
}

bool TeamChooser::is_hopeless() const {
  double expected = window_of_best_.mean() * double(trial_.steps);
  return double(trial_.sum - trial_.longest) > kHopeless * expected + double(kInterruption);
}

void TeamChooser::begin_trial() {
  rounds_ = 0;
  if (next_candidate()) return begin(Phase::measuring_best, best_);
  candidates_ = 0;
  held_ns_ = 0;
  hold_ns_ = std::clamp(2 * hold_ns_, kShortestHold, kLongestHold);
  begin(Phase::holding, best_);
}

void TeamChooser::end_trial(bool better) {
  if (better) {
    best_ = other_;
    candidates_ = 0;  // the others are compared with the new best
    hold_ns_ = 0;
  }
  begin_trial();
}

void TeamChooser::compare() {
  if (window_.mean() > kBetter * window_of_best_.mean()) return end_trial(false);
  if (++rounds_ == kRounds) return end_trial(true);
  begin(Phase::measuring_best, best_);
}

void TeamChooser::observe(int64_t ns) {
  if (phase_ == Phase::warming) {
    if (++settled_ == kWarmUp) begin_trial();
    return;
  }
  if (phase_ == Phase::holding) {
    held_ns_ += ns;
    window_.add(ns);
    bool changed = held_ns_ >= kShortestHold / 2 && window_.is_full() &&
                   window_of_best_.steps > 1 && window_.mean() > kSlower * window_of_best_.mean();
    if (window_.is_full()) window_ = {};
    if (changed) hold_ns_ = 0;
    if (changed || held_ns_ >= hold_ns_) begin_trial();
    return;
  }
  if (phase_ == Phase::measuring_other) {
    trial_.add(ns);
    if (is_hopeless()) return end_trial(false);
  }
  if (!is_settled()) {
    ++settled_;
    settled_ns_ += ns;
    return;
  }
  window_.add(ns);
  if (!window_.is_full()) return;
  if (phase_ == Phase::measuring_other) return compare();
  window_of_best_ = window_;
  if (window_.mean() > double(kLongStep) && other_ == TeamUse::alone) return end_trial(false);
  begin(Phase::measuring_other, other_);
}

TeamChooser chooser_for(double flops, double bytes) {
  double seconds = flops / kFlops + bytes / kBandwidth;
  if (seconds < kSmallestStep) return TeamChooser(TeamUse::alone, kShortestHold);
  bool small = seconds < kSmallStep;
  return TeamChooser(small ? TeamUse::alone : TeamUse::spinning, 0, small);
}

bool StepScope::runs_alone(TeamChooser& chooser, int64_t& began, int threads) {
  if (threads < 2 || AloneScope::is_alone()) return false;
  int64_t now = steady_clock().now();
  if (began != 0) chooser.observe(now - began);
  began = now;
  if (chooser.use() == TeamUse::alone) return true;
  set_waiting(chooser.use() == TeamUse::sleeping, threads, now);
  return false;
}

StepScope::StepScope(TeamChooser& chooser, int64_t& began, int threads)
    : alone_(runs_alone(chooser, began, threads)) {}

}  // namespace stoker::cpu
