// What the doctor says about the ranks of a data-parallel training.
#include <gtest/gtest.h>

#include "observe/verdict.h"
#include "support/synthetic_steps.h"

namespace stoker::doctor {
namespace {

using test::evidence_of;

constexpr double kNsPerMs = 1e6;

// Three ranks of 10 ms steps; each needs `own` of them, and waits for the others for the rest.
Evidence ranks_of(const std::vector<RankFacts>& ranks) {
  Evidence evidence = evidence_of({});
  evidence.ranks = ranks;
  return evidence;
}

RankFacts rank(int64_t number, double own_ms, double input_ms = 0, double rows = 8) {
  return {.rank = number,
          .host = "node" + std::to_string(number),
          .step_ns = 10 * kNsPerMs,
          .input_ns = input_ms * kNsPerMs,
          .wait_ns = (10 - own_ms) * kNsPerMs,
          .rows = rows};
}

TEST(RankVerdict, NamesTheRankWhoseInputIsLate) {
  Verdict verdict = judge(ranks_of({rank(0, 6), rank(1, 10, 4), rank(2, 6)}));
  EXPECT_EQ(verdict.finding, Finding::ranks);
  EXPECT_EQ(verdict.limit, Limit::ranks);
  EXPECT_EQ(verdict.cause, Cause::rank_input) << verdict.sentence;
  EXPECT_EQ(verdict.culprit, "rank 1 on node1");
  EXPECT_TRUE(verdict.high);
}

TEST(RankVerdict, TellsMoreRowsFromASlowerMachine) {
  EXPECT_EQ(judge(ranks_of({rank(0, 6), rank(1, 6), rank(2, 10, 0, 14)})).cause,
            Cause::uneven_split);
  Verdict slower = judge(ranks_of({rank(0, 10), rank(1, 6), rank(2, 6)}));
  EXPECT_EQ(slower.cause, Cause::slow_rank) << slower.sentence;
  EXPECT_EQ(slower.culprit, "rank 0 on node0");
}

TEST(RankVerdict, BlamesTheLinkWhereAllWaitAlike) {
  Verdict verdict = judge(ranks_of({rank(0, 7), rank(1, 7), rank(2, 7)}));
  EXPECT_EQ(verdict.finding, Finding::ranks);
  EXPECT_EQ(verdict.cause, Cause::network) << verdict.sentence;
}

TEST(RankVerdict, SaysNothingWhereRanksHardlyWaitOrThereIsOne) {
  EXPECT_NE(judge(ranks_of({rank(0, 9.5), rank(1, 9.5)})).finding, Finding::ranks);
  EXPECT_NE(judge(ranks_of({})).finding, Finding::ranks);
}

}  // namespace
}  // namespace stoker::doctor
