#include "engine/branches.h"

#include <gtest/gtest.h>
#include <stoker/random.h>

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
  auto lanes = assign_lanes(found, std::vector<double>(3, 1), 4);
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
  std::vector<double> work(3, 1);
  EXPECT_EQ(assign_lanes(find_dependencies(items), work, 1), (std::vector<int>{0, 0, 0}));
}

TEST(Branches, ALaneGoesOnWithWhatWaitsForItsLongItem) {
  std::vector<std::vector<int>> dependencies = {{}, {0}, {0}, {1, 2}};
  std::vector<double> work = {1, 3, 1, 1};
  std::vector<int> lanes = assign_lanes(dependencies, work, 4);
  EXPECT_EQ(lanes[3], lanes[1]);
  EXPECT_NE(lanes[3], lanes[2]);
}

TEST(Branches, WhatWaitsForNothingOpensALaneAtTheStartAlone) {
  std::vector<std::vector<int>> dependencies = {{}, {}, {0, 1}, {0}, {}};
  std::vector<double> work = {1, 1, 3, 1, 1};
  std::vector<int> lanes = assign_lanes(dependencies, work, 6);
  EXPECT_NE(lanes[0], lanes[1]);
  EXPECT_EQ(lanes[4], lanes[1]) << "which ends first";
}

TEST(Branches, TheLongestWayGoesFirst) {
  // 0 leads to 1, to 2 and 3, and to 4; all lead to 5.
  std::vector<std::vector<int>> dependencies = {{}, {0}, {0}, {2}, {0}, {1, 3, 4}};
  std::vector<double> work = {1, 1, 1, 1, 1, 1};
  EXPECT_EQ(order_by_urgency(dependencies, work), (std::vector<int>{0, 2, 1, 3, 4, 5}));
  work[4] = 3;
  EXPECT_EQ(order_by_urgency(dependencies, work), (std::vector<int>{0, 4, 2, 1, 3, 5}));
}

TEST(Branches, AnOrderByUrgencyBreaksNoDependency) {
  Rng rng(3);
  std::vector<std::vector<int>> dependencies(40);
  std::vector<double> work;
  for (int i = 0; i < 40; ++i) {
    work.push_back(double(rng.integer(1, 4)));
    for (int before = 0; before < i; ++before)
      if (rng.integer(0, 8) == 0) dependencies[size_t(i)].push_back(before);
  }
  std::vector<int> order = order_by_urgency(dependencies, work), place(40, -1);
  for (size_t i = 0; i < order.size(); ++i) place[size_t(order[i])] = int(i);
  for (int i = 0; i < 40; ++i)
    for (int before : dependencies[size_t(i)]) EXPECT_LT(place[size_t(before)], place[size_t(i)]);
}

}  // namespace

}  // namespace stoker
