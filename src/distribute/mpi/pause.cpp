#include "distribute/mpi/pause.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace stoker::distribute::mpi {

namespace {

using namespace std::chrono_literals;

// Beside a computation: what a core needs to fall asleep, wake and look is a tenth of the shortest one.
// The longest one follows on 8 ms without a message, and so on a link that moves 64 KB in that time.
constexpr std::chrono::nanoseconds kShortest = 100us, kLongest = 1ms;
constexpr std::chrono::nanoseconds kShortestWait = 10us, kLongestWait = 1ms;
constexpr std::chrono::nanoseconds kNoPause = 20us;  // after a message, while a thread waits
constexpr int kFraction = 8;                         // of the time since the last message

// struct sched_attr of the kernel; the C library has it since 2.41.
struct SchedulerAttributes {
  uint32_t size = sizeof(SchedulerAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0, deadline = 0, period = 0;
};

constexpr uint64_t kShortestSlice = 100'000;  // ns; Linux takes no less

}  // namespace

std::chrono::nanoseconds Pause::next(bool waited_for, Clock::time_point now) const {
  std::chrono::nanoseconds since = now - moved_;
  if (waited_for && since < kNoPause) return 0ns;
  return std::clamp(since / kFraction, waited_for ? kShortestWait : kShortest,
                    waited_for ? kLongestWait : kLongest);
}

// Since Linux 6.12 a thread with a shorter slice runs before one with a longer slice when it wakes;
// its share of the core stays the same. Without it, it waits until the slice of the computing
// thread ends: up to 3 ms per message.
void wake_promptly() {
  prctl(PR_SET_TIMERSLACK, 1UL);
#ifdef SYS_sched_setattr
  SchedulerAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0U) != 0) return;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;
  attributes.size = sizeof(attributes);
  attributes.runtime = kShortestSlice;
  syscall(SYS_sched_setattr, 0, &attributes, 0U);
#endif
}

}  // namespace stoker::distribute::mpi
