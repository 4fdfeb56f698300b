// A run as the rules see it: the evidence, and what follows from it. Times are seconds per step.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "observe/words.h"

namespace stoker::doctor {

class Case {
 public:
  explicit Case(const Evidence& evidence)
      : evidence_(evidence), shares_(evidence.total().shares()) {}

  const Evidence& evidence() const { return evidence_; }
  const PipelineFacts& pipeline() const { return evidence_.pipeline; }
  const DeviceFacts& device() const { return evidence_.device; }
  const HealthFacts& health() const { return evidence_.health; }
  const CounterfactualFacts& what_if() const { return evidence_.what_if; }
  double share(Owner owner) const { return shares_[owner]; }
  const StepShares& shares() const { return shares_; }

  double step() const { return evidence_.step_ns * 1e-9; }
  double without(Owner owner) const { return step() * (1 - shares_[owner]); }
  double cores() const;
  Phrase device_word() const { return device().gpu ? Phrase("GPU") : Phrase("device"); }

  // --- input ---
  double replayed() const;  // with the pipeline paused; measured, or without the waiting
  double alone() const;     // how long the pipeline alone needs for a batch
  bool is_fast_enough() const { return alone() <= replayed(); }
  // A step that is fed as well as the pipeline can on all cores, with `left` of its work. Where the
  // device is the same cores the work of both has to fit on them; a GPU's steps are started, and
  // waited for, by a thread with a core of its own. `waiting` workers may be more than cores.
  double fed_with(double left, bool waiting = false) const;
  // How many times longer a step computes while the pipeline works than while it is paused: its
  // cores may be two threads of one, and share its caches. 1: not known.
  double crowding() const;
  // Share: computing that is not there while the pipeline is paused, and, where the program's own
  // threads want more cores than there are, waiting for batches that the pipeline alone makes fast
  // enough: which of the two it is, the scheduler decides. Only where the device is the host, and
  // no more than the pipeline's threads have worked meanwhile.
  double lost_to_pipeline() const;
  bool wants_more_cores() const;  // the program's own threads, than there are
  // Computing as long as it would take with its cores to itself: tried, or without the waiting for
  // a core.
  double undisturbed() const;
  // Cores held by threads other than the pipeline's while there was nothing to compute: they spun.
  double spinning_cores() const;
  const StageFacts* slowest_stage() const;  // null: none was measured
  Phrase slowest_name() const;              // "the pipeline" where no stage was measured
  double longest_element() const;

  // --- ranks ---
  // The one that needs most for itself, so that the others wait for it; null: one process.
  const RankFacts* slowest_rank() const;
  // Of the other ranks, the one in the middle by `of`.
  double middle_of_others(double (*of)(const RankFacts&)) const;
  // Share of a step that a rank in the middle waits for sums.
  double waiting_for_ranks() const;

  // --- copy, launch, sync ---
  double copying() const;  // what its copy costs a step: measured, or as it was seen
  bool copies_are_proven() const;
  // What the host does between steps, or in a layer, is so much that calls and copies are late,
  // too.
  bool host_holds(const StepShares& share) const;
  double without_callbacks() const;
  double without_host_layer() const;
  const CallbackFacts* longest_callback() const;  // null: there is none
  const OpFacts* host_layer() const;              // likewise

  // --- a busy device ---
  // The layer that takes most of the computing, forwards and backwards, and its share.
  std::pair<Phrase, double> busiest_layer() const;
  const OpFacts* separable_convolution() const;  // worth one; null: there is none
  // Ops far below what the device allows, and long enough for it to be their kernels' fault.
  struct SlowOps {
    std::vector<const OpFacts*> ops;  // what gains most first
    double share = 0;                 // of the computing
    double gain = 0;      // of the computing, if all reached the usual share of their limit
    double together = 0;  // of the gain: by one kind of op, or by one layer
  };
  // `margin`: also if they reached so many times as much.
  SlowOps slow_ops(double margin = 1) const;
  // Share of the computing: ops that are near enough to a limit for it to be theirs. Nothing where
  // ops were not timed, or no costs are known.
  std::optional<double> near_limits() const;
  // Per as many samples as now, in a batch twice as large.
  double doubled() const;
  bool larger_batch_is_refuted() const;  // it was tried, and gains nothing

 private:
  const Evidence& evidence_;
  StepShares shares_;
};

// Ops that are a user's code on the host, nanoseconds per step.
double host_ns(const DeviceFacts& device);
// The share of its limit that an op reaches: of the arithmetic or of the bandwidth.
double reach(const OpFacts& op);
// Its products could run on tensor cores, and do not.
bool wants_mixed_precision(const DeviceFacts& device);

}  // namespace stoker::doctor
