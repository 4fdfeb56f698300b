// Who wanted the cores between two readings of the kernel's counters.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "base/file.h"
#include "observe/cpu_counters.h"
#include "support/temp_dir.h"

namespace stoker::doctor {
namespace {

// The files that Linux has for a thread: time on a core, time ready without one, and its name.
void write_thread(const test::TempDir& root, int id, int64_t ran, int64_t delayed,
                  const std::string& name) {
  std::string folder = root / ("proc/self/task/" + std::to_string(id));
  local_files().create_directories(folder);
  write_file_atomically(folder + "/schedstat",
                        std::to_string(ran) + " " + std::to_string(delayed) + " 7\n");
  write_file_atomically(folder + "/comm", name + "\n");
}

TEST(CpuCounters, TellThreadsOfThePipelineFromThoseThatCompute) {
  test::TempDir root;
  write_thread(root, 1, 100, 0, "train");
  write_thread(root, 2, 100, 0, "pipeline 0");
  CpuCounters before = read_cpu_counters(root.path());
  write_thread(root, 1, 100 + 800, 200, "train");
  write_thread(root, 2, 100 + 500, 100, "pipeline 0");
  write_thread(root, 3, 999, 999, "new");  // nothing is known of what it did before
  CpuCounters after = read_cpu_counters(root.path());
  after.at = before.at + 1000;
  HealthFacts health;
  add_to(health, before, after);
  EXPECT_DOUBLE_EQ(health.run_delay_share, 0.2);
  EXPECT_DOUBLE_EQ(health.pipeline_delay_share, 0.1);
  EXPECT_DOUBLE_EQ(health.own.computing, 0.8);
  EXPECT_DOUBLE_EQ(health.own.pipeline, 0.5);
  EXPECT_DOUBLE_EQ(health.own.wanted, 0.8 + 0.2 + 0.5 + 0.1);
}

// A machine of which this process has a part: on the rest, others may do what they like.
TEST(CpuCounters, CountOthersOnlyOnCoresThatThisProcessMayUse) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  test::TempDir root;
  local_files().create_directories(root / "proc");
  std::string text = "cpu  900000 0 0 5 5 0 0 0\n";
  for (int core = 0; core < CPU_SETSIZE; ++core)
    text += "cpu" + std::to_string(core) +
            (CPU_ISSET(core, &allowed) ? " 1 2 3 9 9 0 0 0\n" : " 9999 0 0 0 0 0 0 0\n");
  write_file_atomically(root / "proc/stat", text + "intr 12345\n");
  int64_t tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  EXPECT_EQ(read_cpu_counters(root.path()).system, 6 * tick * CPU_COUNT(&allowed));
}

}  // namespace
}  // namespace stoker::doctor
