// Whether a program's steps run on the whole team or alone, and how threads of the team wait: found
// by measuring. All uses give the same bits, so that it may change from one step to the next.
//
// - spinning: the team; threads that wait turn in a loop for milliseconds, which is the fastest way
//   on cores that no other thread needs.
// - sleeping: the team; threads that wait sleep soon, so that their cores are free for the threads
//   that make the next batch.
// - alone: the caller's thread only. Small steps gain little from more, and the other cores are the
//   pipeline's.
// docs/design/019-threads-of-a-step.md has what was measured.
#pragma once

#include <cstdint>

#include "engine/cpu/team.h"

namespace stoker::cpu {

enum class TeamUse : uint8_t { spinning, sleeping, alone };

// The decision. Compares the time from one step's beginning to the next one's, and so counts what
// the step takes and what it keeps from the pipeline. Another use is tried for a short window, in
// turns with the one at work; it is taken when it was faster twice. Then nothing changes for two
// seconds, and up to 32 while trials are in vain, unless steps take twice as long as they did. Knows no threads and no clock.
class TeamChooser {
 public:
  // `hold_ns`: for how long nothing else is tried. `tries_alone`: whether alone is a candidate.
  explicit TeamChooser(TeamUse first = TeamUse::spinning, int64_t hold_ns = 0,
                       bool tries_alone = true)
      : phase_(hold_ns > 0 ? Phase::holding : Phase::warming),
        use_(first),
        best_(first),
        tries_alone_(tries_alone),
        hold_ns_(hold_ns) {}
  TeamUse use() const { return use_; }
  // A step took `ns`, from its beginning to the beginning of the next.
  void observe(int64_t ns);

 private:
  enum class Phase : uint8_t { warming, holding, measuring_best, measuring_other };
  struct Window {
    int64_t steps = 0, sum = 0, longest = 0;
    void add(int64_t ns);
    bool is_full() const;
    double mean() const { return double(sum - longest) / double(steps - 1); }
  };

  void begin(Phase phase, TeamUse use);
  void begin_trial();
  void end_trial(bool better);
  bool next_candidate();
  bool is_hopeless() const;
  bool is_settled() const;
  void compare();

  Phase phase_;
  TeamUse use_, best_, other_ = TeamUse::sleeping;
  bool tries_alone_;
  Window window_, window_of_best_;
  Window trial_;     // of the other use, with the steps that settle
  int settled_ = 0;  // steps since the last change
  int64_t settled_ns_ = 0;
  int rounds_ = 0;      // that the candidate has won
  int candidates_ = 0;  // that were tried since the last pause
  int64_t held_ns_ = 0, hold_ns_;
};

// What a program begins with: alone where its operations and bytes take one core some milliseconds,
// since a team that others disturb may take a hundred times as long. The smallest steps stay so for
// two seconds, because a trial would cost a short training more than it could find. Larger steps are
// never tried alone: what runs between them would be counted, and a wrong choice costs them most.
TeamChooser chooser_for(double flops, double bytes);

// One step of a program whose team has so many threads: counts the step before and applies the
// chooser's use while it lives. Where OMP_WAIT_POLICY or GOMP_SPINCOUNT are set, the waiting is
// the user's choice and stays.
class StepScope {
 public:
  // `began`: when the step before began, 0 at first; is set.
  StepScope(TeamChooser& chooser, int64_t& began, int threads);

 private:
  static bool runs_alone(TeamChooser& chooser, int64_t& began, int threads);
  AloneScope alone_;
};

}  // namespace stoker::cpu
