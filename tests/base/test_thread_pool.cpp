#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/error.h>

#include "base/thread_pool.h"

namespace stoker {
namespace {

TEST(ThreadPool, ReturnsWhatTasksReturn) {
  ThreadPool pool({.threads = 3});
  std::vector<Future<int>> squares;
  for (int i = 0; i < 100; ++i) squares.push_back(pool.submit([i] { return i * i; }));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(squares[size_t(i)].get(), i * i);
}

TEST(ThreadPool, TakesTasksThatCannotBeCopied) {
  ThreadPool pool({.threads = 1});
  auto value = std::make_unique<int>(5);
  EXPECT_EQ(pool.submit([value = std::move(value)] { return *value; }).get(), 5);
}

TEST(ThreadPool, RunsAsManyTasksAtOnceAsItHasThreads) {
  ThreadPool pool({.threads = 4});
  std::latch all_running(4);  // opens only if four tasks are in it together
  for (int i = 0; i < 4; ++i) pool.submit([&] { all_running.arrive_and_wait(); });
  pool.wait_idle();
}

TEST(ThreadPool, WithOneThreadKeepsTheOrder) {
  ThreadPool pool({.threads = 1});
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) pool.submit([&order, i] { order.push_back(i); });
  pool.wait_idle();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[size_t(i)], i);
}

TEST(ThreadPool, BringsExceptionsToTheCallerAndGoesOn) {
  ThreadPool pool({.threads = 1});
  auto failing = pool.submit([]() -> int { throw ValueError("no such value"); });
  EXPECT_THROW(failing.get(), ValueError);
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
}

TEST(ThreadPool, FinishesWhatIsQueuedBeforeItGoes) {
  std::atomic<int> done = 0;
  {
    ThreadPool pool({.threads = 2});
    for (int i = 0; i < 200; ++i) pool.submit([&] { ++done; });
  }
  EXPECT_EQ(done, 200);
}

TEST(ThreadPool, FinishesAlsoWhatTasksSubmitWhileItGoes) {
  std::atomic<int> done = 0;
  {
    ThreadPool pool({.threads = 2});
    for (int i = 0; i < 20; ++i)
      pool.submit([&] {
        pool.submit([&] { ++done; });
        ++done;
      });
  }
  EXPECT_EQ(done, 40);
}

TEST(ThreadPool, WithABoundedQueueMakesTheCallerWait) {
  ThreadPool pool({.threads = 1, .queue_limit = 2});
  std::latch open(1), running(1);
  pool.submit([&] {
    running.count_down();
    open.wait();
  });
  running.wait();
  pool.submit([] {});
  pool.submit([] {});
  std::atomic<bool> third_queued = false;
  std::jthread caller([&] {
    pool.submit([] {});
    third_queued = true;
  });
  EXPECT_FALSE(third_queued);  // two wait, one runs: there is no room until the latch opens
  open.count_down();
  caller.join();
  EXPECT_TRUE(third_queued);
}

TEST(ThreadPool, WithAFullQueueLetsItsOwnTasksRunWhatTheySubmit) {
  ThreadPool pool({.threads = 2, .queue_limit = 1});
  std::atomic<int> done = 0;
  for (int i = 0; i < 50; ++i)
    pool.submit([&] {
      for (int inner = 0; inner < 10; ++inner) pool.submit([&] { ++done; });
    });
  pool.wait_idle();
  EXPECT_EQ(done, 500);
}

TEST(ThreadPool, ReleasesWhatATaskHeldBeforeItsOutcomeIsSeen) {
  ThreadPool pool({.threads = 2});
  auto held = std::make_shared<int>(1);
  auto done = pool.submit([held] {});
  done.wait();
  EXPECT_TRUE(done.ready());
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ThreadPool, IsIdleAtOnceWhenItNeverWorked) { ThreadPool({.threads = 2}).wait_idle(); }

TEST(ThreadPool, RefusesToWaitForItself) {
  ThreadPool pool({.threads = 1});
  EXPECT_THROW(pool.submit([&] { pool.wait_idle(); }).get(), Error);
}

TEST(ThreadPool, RefusesToExistWithoutThreadsOrRoom) {
  EXPECT_THROW(ThreadPool({.threads = 0}), ValueError);
  EXPECT_THROW(ThreadPool({.threads = 1, .queue_limit = 0}), ValueError);
}

TEST(ParallelFor, CoversEveryIndexOnce) {
  ThreadPool pool({.threads = 3});
  for (int64_t count : {0, 1, 7, 1000}) {
    std::vector<std::atomic<int>> seen(size_t(count) + 1);
    parallel_for(pool, count, 7, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(begin % 7, 0);
      for (int64_t i = begin; i < end; ++i) ++seen[size_t(i)];
    });
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(seen[size_t(i)], 1);
    EXPECT_EQ(seen[size_t(count)], 0);
  }
}

TEST(ParallelFor, TakesAGrainLargerThanTheCount) {
  ThreadPool pool({.threads = 2});
  parallel_for(pool, 3, INT64_MAX, [](int64_t begin, int64_t end) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 3);
  });
  EXPECT_THROW(parallel_for(pool, 3, 0, [](int64_t, int64_t) {}), ValueError);
}

TEST(ParallelFor, ThrowsWhatTheLowestRangeThrew) {
  ThreadPool pool({.threads = 4});
  std::latch together(2);
  try {
    parallel_for(pool, 2, 1, [&](int64_t begin, int64_t) {
      together.arrive_and_wait();  // both throw
      throw std::runtime_error(std::to_string(begin));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "0");
  }
}

TEST(ParallelFor, MayBeNestedInThePoolsOwnTasks) {
  ThreadPool pool({.threads = 2, .queue_limit = 3});
  std::atomic<int> done = 0;
  parallel_for(pool, 8, 1, [&](int64_t, int64_t) {
    parallel_for(pool, 8, 1, [&](int64_t, int64_t) { ++done; });
  });
  EXPECT_EQ(done, 64);
}

}  // namespace
}  // namespace stoker
