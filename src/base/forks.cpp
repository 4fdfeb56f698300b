#include "base/forks.h"

#include <pthread.h>

#include <atomic>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

constinit std::atomic<int> fork_count = 0;

// Every fork after the program has started is counted.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] { ++fork_count; });

}  // namespace

int forks() { return fork_count.load(std::memory_order_relaxed); }

void check_not_forked(int then, const char* what) {
  if (then == forks()) return;
  throw Error(
      fmt::format("this process was forked off one that had started {}, which did not come along; "
                  "fork before the first use, or start another program (exec) in the child",
                  what));
}

}  // namespace stoker
