// Why the ranks of a data-parallel training wait. Rows of cause_table.cpp, which alone includes this.
#pragma once

#include "observe/rules.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

// How much longer the slowest rank needs than one in the middle of the others; seconds.
double longer(const Case& run) {
  const RankFacts* slow = run.slowest_rank();
  if (slow == nullptr) return 0;
  double others = run.middle_of_others([](const RankFacts& rank) { return rank.own_ns(); });
  return (slow->own_ns() - others) * 1e-9;
}

bool one_is_slower(const Case& run) {
  const RankFacts* slow = run.slowest_rank();
  return slow != nullptr && longer(run) >= kRankSlower * slow->step_ns * 1e-9;
}

// Without ranks one of which nothing is known.
RankFacts slowest(const Case& run) {
  const RankFacts* slow = run.slowest_rank();
  return slow != nullptr ? *slow : RankFacts{};
}

double later_input(const Case& run) {
  RankFacts slow = slowest(run);
  double others = run.middle_of_others([](const RankFacts& rank) { return rank.input_ns; });
  return (slow.input_ns - others) * 1e-9;
}

Phrase slow_rank_name(const Case& run) {
  RankFacts slow = slowest(run);
  return say("rank {} on {}", slow.rank, Phrase(slow.host, "its host"));
}

constexpr CauseRule kRankCauses[] = {
    {.cause = Cause::rank_input,
     .finding = Finding::ranks,
     .holds =
         [](const Case& run) { return one_is_slower(run) && later_input(run) >= longer(run) / 2; },
     .says =
         [](const Case& run) {
           return say("{} waits {} for its input, {} longer than the others", slow_rank_name(run),
                      duration(slowest(run).input_ns * 1e-9), duration(later_input(run)));
         },
     .culprit = slow_rank_name},
    {.cause = Cause::uneven_split,
     .finding = Finding::ranks,
     .holds =
         [](const Case& run) {
           double rows = run.middle_of_others([](const RankFacts& rank) { return rank.rows; });
           return one_is_slower(run) && slowest(run).rows > kMoreRows * rows;
         },
     .says =
         [](const Case& run) {
           double rows = run.middle_of_others([](const RankFacts& rank) { return rank.rows; });
           return say(
               "{} has {:.1f} rows per step, the others {:.1f}; a batch that the number of ranks "
               "divides is even",
               slow_rank_name(run), slowest(run).rows, rows);
         },
     .culprit = slow_rank_name},
    {.cause = Cause::slow_rank,
     .finding = Finding::ranks,
     .holds = one_is_slower,
     .says =
         [](const Case& run) {
           return say(
               "{} computes {} longer than the others for as many rows: another device, fewer "
               "cores or other programs on them",
               slow_rank_name(run), duration(longer(run)));
         },
     .culprit = slow_rank_name},
    {.cause = Cause::network,
     .finding = Finding::ranks,
     .holds = [](const Case&) { return true; },
     .says =
         [](const Case&) {
           return Phrase(
               "all of them for the link: more rows per rank, bfloat16 on the wire, or fewer "
               "sums by gradient accumulation");
         }},
};

}  // namespace

}  // namespace stoker::doctor
