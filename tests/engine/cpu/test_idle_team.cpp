// When the CPU engine's waiting threads give their cores away.
#include <omp.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "engine/cpu/crowding.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

using cpu::Crowding;

constexpr int64_t kMs = 1'000'000;

// A thread that is delayed by a share of its time, looked at every 200 ms.
struct Delayed {
  bool run(double share, int windows = 1) {
    bool crowded = false;
    for (int i = 0; i < windows; ++i) {
      now += 200 * kMs;
      delay += int64_t(share * 200 * kMs);
      crowded = crowding.update(now, delay);
    }
    return crowded;
  }
  Crowding crowding;
  int64_t now = 0, delay = 0;
};

TEST(Crowding, IsSeenInAThreadThatWaitsForItsCore) {
  Delayed thread;
  EXPECT_FALSE(thread.run(0.4)) << "the first window only sets the marks";
  EXPECT_TRUE(thread.run(0.4));
}

TEST(Crowding, IsNotSeenInWhatAPipelineOfCopiesCosts) {
  Delayed thread;
  EXPECT_FALSE(thread.run(0.09, 50));
}

TEST(Crowding, LastsWhileTheThreadIsDelayedHalfAsMuch) {
  Delayed thread;
  thread.run(0.4, 3);
  EXPECT_TRUE(thread.run(0.15, 50));
}

TEST(Crowding, EndsAFewWindowsAfterTheCoresAreFree) {
  Delayed thread;
  thread.run(0.4, 3);
  EXPECT_TRUE(thread.run(0.0, 4));
  EXPECT_FALSE(thread.run(0.0, 2));
}

TEST(Crowding, BeginsAnewWhenAnotherThreadTakesOver) {
  Delayed thread;
  thread.run(0.1, 10);
  thread.delay = 0;
  EXPECT_FALSE(thread.run(0.1));
}

TEST(Crowding, IsDueAfterAWindow) {
  Crowding crowding;
  EXPECT_TRUE(crowding.is_due(5 * kMs));
  crowding.update(5 * kMs, 0);
  EXPECT_FALSE(crowding.is_due(100 * kMs));
  EXPECT_TRUE(crowding.is_due(205 * kMs));
}

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
#pragma omp parallel num_threads(cores)
    ++ran;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(ran, 20 * cores);
  // Threads that turn in loops take 5 ms and more a time, each.
  EXPECT_LT(processor_time() - before, 20 * 2000 * cores);
}

}  // namespace

}  // namespace stoker::test
