// How busy a machine is, read from folders that look like /proc and /sys.
#include <gtest/gtest.h>

#include "observe/machine_state.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using test::TempDir;

TEST(MachineState, CountsTheTicksOfEveryCore) {
  TempDir root;
  root.write("proc/stat",
             "cpu  300 0 100 600 0 0 0 0\ncpu0 100 0 0 100 0 0 0 0\n"
             "cpu1 200 0 100 500 0 0 0 0\nintr 5\n");
  MachineCounters before = read_machine_counters(root.path());
  ASSERT_EQ(before.cores.size(), 2U);
  root.write("proc/stat",
             "cpu  0 0 0 0\ncpu0 150 0 0 150 0 0 0 0\n"
             "cpu1 200 0 100 580 20 0 0 0\n");
  MachineState state = difference(before, read_machine_counters(root.path()));
  EXPECT_EQ(state.cores, (std::vector<double>{0.5, 0.0})) << "waiting for a disk is no use";
}

TEST(MachineState, CountsWhatDisksReadAndWriteButNoLayersOverThem) {
  TempDir root;
  for (const char* name : {"nvme0n1", "loop0", "dm-0"})
    root.write("sys/block/" + std::string(name) + "/size", "1");
  auto write = [&](int64_t read, int64_t written, int64_t busy) {
    std::string text;
    for (const char* name : {"nvme0n1", "nvme0n1p1", "loop0", "dm-0"})
      text += " 259 0 " + std::string(name) + " 5 0 " + std::to_string(read) + " 1 7 0 " +
              std::to_string(written) + " 1 0 " + std::to_string(busy) + " 9\n";
    root.write("proc/diskstats", text);
  };
  write(1000, 0, 100);
  MachineCounters before = read_machine_counters(root.path());
  write(3000, 4000, 600);
  MachineCounters after = read_machine_counters(root.path());
  before.at = 0, after.at = 2'000'000'000;
  MachineState state = difference(before, after);
  ASSERT_EQ(state.disks.size(), 1U);
  EXPECT_EQ(state.disks[0].name, "nvme0n1");
  EXPECT_DOUBLE_EQ(state.disks[0].read_rate, 2000 * 512 / 2.0);
  EXPECT_DOUBLE_EQ(state.disks[0].write_rate, 4000 * 512 / 2.0);
  EXPECT_DOUBLE_EQ(state.disks[0].busy, 0.25);
}

TEST(MachineState, IsEmptyWhereNothingCanBeRead) {
  TempDir root;
  MachineCounters none = read_machine_counters(root.path());
  MachineState state = difference(none, none);
  EXPECT_TRUE(state.cores.empty());
  EXPECT_TRUE(state.disks.empty());
}

TEST(MachineState, OfThisMachineHasCoresMemoryAndRoom) {
  MachineWatch watch;
  MachineState state = watch.read();
  EXPECT_GT(state.cores.size(), 0U);
  EXPECT_GT(state.memory_total, state.memory_free);
  ASSERT_FALSE(state.file_systems.empty());
  EXPECT_EQ(state.file_systems[0].folder, "/");
  EXPECT_EQ(state.gpus.empty(), !state.no_gpu.empty());
}

}  // namespace
}  // namespace stoker
