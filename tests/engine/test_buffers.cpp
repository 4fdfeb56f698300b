// Where buffers lie, and how long.
#include "engine/buffers.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

BufferInfo arena(size_t bytes) { return {BufferKind::arena, bytes, MemoryCategory::gradients, -1}; }
BufferInfo part(int whole, size_t offset, size_t bytes) {
  return {BufferKind::part, bytes, MemoryCategory::gradients, whole, offset};
}

TEST(Buffers, LieInsideTheOneTheyAreAPartOf) {
  std::vector<BufferInfo> buffers = {arena(64), arena(256), part(1, 0, 64), part(1, 64, 192)};
  std::vector<Lifetime> lifetimes = {{0, 3}, {0, 1}, {0, 0}, {1, 1}};
  BufferPlan plan = plan_buffers(buffers, lifetimes, 4);
  EXPECT_EQ(plan.offsets[2], plan.offsets[1]);
  EXPECT_EQ(plan.offsets[3], plan.offsets[1] + 64);
  EXPECT_EQ(plan.memory.arena, 64U + 256U);
}

TEST(Buffers, AreAliveWhileAnyPartOfThemIs) {
  std::vector<BufferInfo> buffers = {arena(256), part(0, 128, 128), arena(256)};
  std::vector<Lifetime> lifetimes = {{0, 1}, {0, 3}, {2, 3}};
  BufferPlan plan = plan_buffers(buffers, lifetimes, 4);
  EXPECT_NE(plan.offsets[2], plan.offsets[0]);
  EXPECT_EQ(plan.memory.arena, 512U);
  lifetimes[1] = {0, 1};  // the part ends with the whole: the next one may lie there
  EXPECT_EQ(plan_buffers(buffers, lifetimes, 4).memory.arena, 256U);
}

}  // namespace
}  // namespace stoker
