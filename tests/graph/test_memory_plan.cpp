#include <numeric>

#include <stoker/random.h>

#include "graph/passes/memory_plan.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;

size_t rounded(size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

std::vector<Buffer> random_buffers(Rng& rng) {
  std::vector<Buffer> buffers(size_t(rng.integer(0, 60)));
  for (Buffer& buffer : buffers) {
    buffer.bytes = size_t(rng.integer(0, 5000));
    buffer.begin = int(rng.integer(0, 40));
    buffer.end = buffer.begin + int(rng.integer(0, 15));
    buffer.category = MemoryCategory(rng.integer(0, kMemoryCategories));
  }
  return buffers;
}

bool alive(const Buffer& buffer, int step) { return buffer.begin <= step && step <= buffer.end; }

size_t live_bytes(const std::vector<Buffer>& buffers, int step) {
  size_t sum = 0;
  for (const Buffer& buffer : buffers) sum += alive(buffer, step) ? buffer.bytes : 0;
  return sum;
}

class RandomPlan : public testing::TestWithParam<int> {
 protected:
  Rng rng_{uint64_t(GetParam())};
  std::vector<Buffer> buffers_ = random_buffers(rng_);
  MemoryPlan plan_ = plan_memory(buffers_);
};

TEST_P(RandomPlan, NeverGivesOnePlaceToTwoLiveBuffers) {
  for (size_t a = 0; a < buffers_.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      if (buffers_[a].begin > buffers_[b].end || buffers_[b].begin > buffers_[a].end) continue;
      bool apart = plan_.offsets[a] + buffers_[a].bytes <= plan_.offsets[b] ||
                   plan_.offsets[b] + buffers_[b].bytes <= plan_.offsets[a];
      EXPECT_TRUE(apart || buffers_[a].bytes == 0 || buffers_[b].bytes == 0) << a << " and " << b;
    }
}

TEST_P(RandomPlan, KeepsEveryBufferAlignedAndInside) {
  size_t top = 0, together = 0;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    EXPECT_EQ(plan_.offsets[i] % kBufferAlignment, 0U);
    if (buffers_[i].bytes > 0) top = std::max(top, plan_.offsets[i] + rounded(buffers_[i].bytes));
    together += rounded(buffers_[i].bytes);
  }
  EXPECT_EQ(plan_.peak, top);
  EXPECT_LE(plan_.peak, together);
}

TEST_P(RandomPlan, TellsTheFirstStepOfTheHighestUse) {
  size_t highest = 0;
  int first = 0;
  for (int step = 0; step < 60; ++step)
    if (live_bytes(buffers_, step) > highest) {
      highest = live_bytes(buffers_, step);
      first = step;
    }
  EXPECT_EQ(plan_.peak_step, first);
  EXPECT_GE(plan_.peak, highest);
  EXPECT_EQ(std::accumulate(plan_.at_peak.begin(), plan_.at_peak.end(), size_t(0)), highest);
  for (int category = 0; category < kMemoryCategories; ++category) {
    size_t expected = 0;
    for (const Buffer& buffer : buffers_)
      if (alive(buffer, first) && int(buffer.category) == category) expected += buffer.bytes;
    EXPECT_EQ(plan_.at_peak[size_t(category)], expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlan, testing::Range(0, 100));

TEST(MemoryPlan, ReusesMemoryOfBuffersThatAreGone) {
  std::vector<Buffer> buffers = {{.bytes = 100, .begin = 0, .end = 1},
                                 {.bytes = 128, .begin = 2, .end = 3}};
  EXPECT_EQ(plan_memory(buffers).peak, 128U);
  buffers[1].begin = 1;
  EXPECT_EQ(plan_memory(buffers).peak, 256U);
}

TEST(MemoryPlan, OfNothingIsEmpty) {
  MemoryPlan plan = plan_memory({});
  EXPECT_EQ(plan.peak, 0U);
  EXPECT_TRUE(plan.offsets.empty());
}

TEST_P(RandomPlan, TellsWhatEveryStepTakes) {
  constexpr int kSteps = 60;
  std::vector<StepMemory> memory = memory_of_steps(buffers_, kSteps);
  size_t most = 0;
  for (int step = 0; step < kSteps; ++step) {
    size_t begun = 0;
    for (const Buffer& buffer : buffers_) begun += buffer.begin == step ? buffer.bytes : 0;
    EXPECT_EQ(memory[size_t(step)].begun, begun);
    EXPECT_EQ(memory[size_t(step)].live, live_bytes(buffers_, step));
    most = std::max(most, memory[size_t(step)].live);
  }
  EXPECT_EQ(most, std::accumulate(plan_.at_peak.begin(), plan_.at_peak.end(), size_t(0)));
}

}  // namespace stoker
