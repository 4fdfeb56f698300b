// Fake /proc and /sys folders as containers, batch systems and systemd make them.
#include <gtest/gtest.h>

#include "base/cores.h"
#include "base/memory_info.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

constexpr const char* kMachine = "MemAvailable: 1000 kB\n";

TEST(MemoryLimit, IsTheSmallestOfTheProcessesOwnGroups) {
  test::TempDir root;
  root.write("proc/meminfo", kMachine);
  root.write("proc/self/cgroup", "0::/user.slice/job\n");
  root.write("proc/self/mountinfo",
             "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  root.write("sys/fs/cgroup/user.slice/job/memory.max", "900000\n");
  root.write("sys/fs/cgroup/user.slice/job/memory.current", "100000\n");
  EXPECT_EQ(available_memory(root.path()), 800000);
  root.write("sys/fs/cgroup/user.slice/memory.max", "500000\n");
  root.write("sys/fs/cgroup/user.slice/memory.current", "200000\n");
  EXPECT_EQ(available_memory(root.path()), 300000);
  root.write("sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(available_memory(root.path()), 800000);
}

TEST(MemoryLimit, IsFoundInVersionOne) {
  test::TempDir root;
  root.write("proc/meminfo", kMachine);
  root.write("proc/self/cgroup", "9:memory:/slurm/job_7\n4:cpu,cpuacct:/\n");
  root.write("proc/self/mountinfo",
             "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
             "32 24 0:28 / /mnt/groups\\040here rw - cgroup cgroup rw,memory\n");
  root.write("mnt/groups here/slurm/job_7/memory.limit_in_bytes", "700000\n");
  root.write("mnt/groups here/slurm/job_7/memory.usage_in_bytes", "600000\n");
  root.write("mnt/groups here/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("mnt/groups here/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(available_memory(root.path()), 100000);
}

// Docker without a group namespace: /proc names the host's path, the mount shows it as its root.
TEST(MemoryLimit, IsFoundWhereTheMountShowsTheGroupItself) {
  test::TempDir root;
  root.write("proc/meminfo", kMachine);
  root.write("proc/self/cgroup", "0::/docker/abc/inner\n");
  root.write("proc/self/mountinfo",
             "30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  root.write("sys/fs/cgroup/memory.max", "400000\n");
  root.write("sys/fs/cgroup/memory.current", "0\n");
  root.write("sys/fs/cgroup/inner/memory.max", "50000\n");
  root.write("sys/fs/cgroup/inner/memory.current", "60000\n");
  EXPECT_EQ(available_memory(root.path()), 0);
}

TEST(MemoryLimit, IsTheMachinesWithoutGroups) {
  test::TempDir root;
  root.write("proc/meminfo", kMachine);
  EXPECT_EQ(available_memory(root.path()), 1000 * 1024);
}

TEST(CpuQuota, FollowsTheMountsOfTheProcess) {
  test::TempDir root;
  root.write("proc/self/cgroup", "4:cpuacct,cpu:/pod/one\n0::/elsewhere\n");
  root.write("proc/self/mountinfo",
             "31 24 0:27 /pod /groups/cpu rw - cgroup cgroup rw,cpuacct,cpu\n");
  root.write("groups/cpu/one/cpu.cfs_quota_us", "250000\n");
  root.write("groups/cpu/one/cpu.cfs_period_us", "100000\n");
  root.write("groups/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("groups/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), 2.5);
}

}  // namespace
}  // namespace stoker
