#include <iostream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/context.h>
#include <stoker/error.h>

#include "base/clock.h"
#include "base/cores.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using test::TempDir;

TEST(Context, HasTheRepairsOnUnlessAskedOtherwise) {
  Context context;
  EXPECT_TRUE(context.capture && context.pin && context.deterministic);
  EXPECT_EQ(context.device, "auto");
  EXPECT_EQ(context.out, &std::cout);
  EXPECT_EQ(context.threads, Threads{});
  Context as_written{.capture = false, .pin = false};
  EXPECT_FALSE(as_written.capture || as_written.pin);
}

TEST(Context, ASeedThatWasNeverSetDiffersBetweenRunsAndStaysTheSameWithinOne) {
  Context first, second;
  EXPECT_EQ(first.seed.value(), first.seed.value());
  EXPECT_NE(first.seed.value(), second.seed.value());
}

TEST(Context, TheSameSeedHandsOutTheSameStreams) {
  Context context{.seed = 42};
  EXPECT_EQ(context.seed.value(), 42U);
  EXPECT_EQ(context.next_stream(), 0U);
  EXPECT_EQ(context.next_stream(), 1U);
  context.seed.set(42);
  EXPECT_EQ(context.next_stream(), 0U);
}

TEST(Context, ARunThatGoesOnTakesItsSeedAndKeepsItsStreams) {
  Context context;
  EXPECT_TRUE(context.seed.drawn());
  context.next_stream();
  context.seed.resume(9);
  EXPECT_EQ(context.seed.value(), 9U);
  EXPECT_TRUE(context.seed.drawn());
  EXPECT_EQ(context.next_stream(), 1U);
  context.seed.set(9);
  EXPECT_FALSE(context.seed.drawn());
  EXPECT_FALSE(Context{.seed = 3}.seed.drawn());
}

TEST(Context, ManyThreadsSeeOneSeed) {
  Context context;
  std::vector<uint64_t> seen(8);
  std::vector<std::jthread> threads;
  for (uint64_t& slot : seen) threads.emplace_back([&] { slot = context.seed.value(); });
  threads.clear();
  for (uint64_t value : seen) EXPECT_EQ(value, context.seed.value());
}

TEST(Context, FreeFunctionsSetTheDefaultOne) {
  Threads before = default_context().threads;
  set_seed(7);
  set_threads({.pipeline = 3, .compute = 1});
  EXPECT_EQ(default_context().seed.value(), 7U);
  EXPECT_EQ(default_context().threads, (Threads{3, 1}));
  EXPECT_THROW(set_threads({.compute = -1}), ValueError);
  EXPECT_EQ(default_context().threads, (Threads{3, 1}));
  set_threads(before);
}

TEST(Cores, AreAtLeastOne) { EXPECT_GE(available_cores(), 1); }

TEST(Cores, FollowTheSmallestQuotaOnTheWayUp) {
  TempDir root;
  root.write("proc/self/cgroup", "0::/jobs/mine\n");
  root.write("sys/fs/cgroup/jobs/mine/cpu.max", "400000 100000\n");
  root.write("sys/fs/cgroup/jobs/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), 1.5);
}

TEST(Cores, InAContainerFollowTheQuotaAtTheMountPoint) {
  TempDir root;
  root.write("proc/self/cgroup", "0::/not/visible/from/here\n");
  root.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), 2);
}

TEST(Cores, FollowControlGroupsOfTheFirstVersion) {
  TempDir root;
  root.write("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n3:cpuset:/\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "250000\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), 2.5);
}

TEST(Cores, HaveNoQuotaWhereNoneIsWritten) {
  TempDir root;
  EXPECT_EQ(cgroup_cpu_quota(root.path()), std::nullopt);
  root.write("proc/self/cgroup", "nonsense\n0::/\n");
  root.write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), std::nullopt);
}

TEST(Clock, TheFakeOneMovesOnlyWhenTold) {
  FakeClock clock;
  EXPECT_EQ(clock.now(), 0);
  clock.advance(250);
  EXPECT_EQ(clock.now(), 250);
}

TEST(Clock, TheSteadyOneNeverGoesBackwards) {
  int64_t before = steady_clock().now();
  EXPECT_GE(steady_clock().now(), before);
}

}  // namespace
}  // namespace stoker
