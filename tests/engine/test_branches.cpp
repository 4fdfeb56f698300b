#include "engine/branches.h"

#include <gtest/gtest.h>

namespace stoker {

namespace {

char memory[64];
Access reads(int at) { return {memory + at, 4, false}; }
Access writes(int at) { return {memory + at, 4, true}; }

TEST(Branches, WorkThatOnlyReadsTheSameMemoryRunsSideBySide) {
  std::vector<Accesses> items = {{writes(0)}, {reads(0), writes(8)}, {reads(0), writes(16)}};
  auto found = find_dependencies(items);
  EXPECT_TRUE(found[0].empty());
  EXPECT_EQ(found[1], std::vector<int>{0});
  EXPECT_EQ(found[2], std::vector<int>{0});
  auto lanes = assign_lanes(found, 4);
  EXPECT_EQ(lanes[0], lanes[1]);
  EXPECT_NE(lanes[1], lanes[2]);
}

TEST(Branches, AWriteWaitsForEarlierReadsOfTheSameBytes) {
  std::vector<Accesses> items = {{reads(0), writes(8)}, {reads(16)}, {writes(2)}};
  EXPECT_EQ(find_dependencies(items)[2], std::vector<int>{0});  // half of it is enough
}

TEST(Branches, WaitsThatAnotherImpliesAreLeftOut) {
  std::vector<Accesses> items = {{writes(0)}, {reads(0), writes(8)}, {reads(0), reads(8)}};
  EXPECT_EQ(find_dependencies(items)[2], std::vector<int>{1});
}

TEST(Branches, WithOneLaneEverythingStaysInLine) {
  std::vector<Accesses> items = {{writes(0)}, {writes(8)}, {reads(0), reads(8)}};
  EXPECT_EQ(assign_lanes(find_dependencies(items), 1), (std::vector<int>{0, 0, 0}));
}

}  // namespace

}  // namespace stoker
