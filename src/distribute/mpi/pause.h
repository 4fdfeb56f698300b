// When the communication thread looks for messages again. MPI has no call that sleeps until one
// arrives, and looking all the time takes a core from the computation. So the pauses grow with the time
// since the last message: a sum that takes ten milliseconds is seen a millisecond late at most.
#pragma once

#include <chrono>

namespace stoker::distribute::mpi {

class Pause {
 public:
  using Clock = std::chrono::steady_clock;

  void moved(Clock::time_point now) { moved_ = now; }  // a message came or went
  // Until the next look; 0: at once. `waited_for`: a thread has nothing else to do.
  std::chrono::nanoseconds next(bool waited_for, Clock::time_point now) const;

 private:
  Clock::time_point moved_;
};

// This thread runs as soon as it wakes, also on a core where another one computes, and its pauses are
// as short as it asks for. Where the kernel cannot do that, nothing changes.
void wake_promptly();

}  // namespace stoker::distribute::mpi
