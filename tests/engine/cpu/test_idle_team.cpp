// How the CPU engine's waiting threads give their cores away.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "engine/cpu/idle_team.h"
#include "engine/cpu/openmp.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

int64_t processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto in_us = [](const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
  return in_us(usage.ru_utime) + in_us(usage.ru_stime);
}

// Processor time, not time on the wall: others on this machine do not count.
TEST(IdleTeam, LetsWaitingThreadsSleep) {
  STOKER_SKIP_UNDER_TSAN();
  int cores = omp_get_num_procs();
  cpu::IdleTeam idle(2);  // one thread more than the team below, which fills the cores
  std::atomic<int> ran = 0;
  int64_t before = processor_time();
  for (int i = 0; i < 20; ++i) {
    cpu::run_team(cores, [&] { ++ran; });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(ran, 20 * cores);
  // Threads that turn in loops take 5 ms and more a time, each.
  EXPECT_LT(processor_time() - before, 20 * 2000 * cores);
}

}  // namespace

}  // namespace stoker::test
