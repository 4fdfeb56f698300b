// The CPU device is an OpenMP team, the same one that oneDNN's primitives run on. Its size is fixed
// for a program, because the order in which partial sums are added, and so the last bits of weight
// gradients, depends on it. How many threads really work does not change a bit: a program may run
// alone, which is all parts of the work, one after the other, on the caller's thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/forks.h"
#include "engine/cpu/openmp.h"

namespace stoker::cpu {

// Error in a child after fork() whose parent had a team already: libgomp would wait for threads
// that did not come along. A team of one has none.
inline void check_team(int threads) {
  static constinit std::atomic<int> first = -1;  // forks() when the first team was made
  if (threads < 2) return;
  int none = -1;
  if (first.load(std::memory_order_relaxed) == none) first.compare_exchange_strong(none, forks());
  check_not_forked(first.load(std::memory_order_relaxed), "the CPU engine's threads");
}

// Sets the size of the team for the calling thread, and restores what was there. Error as
// check_team.
class TeamScope {
 public:
  explicit TeamScope(int threads) : before_(omp_get_max_threads()) {
    check_team(threads);
    if (threads != before_) omp_set_num_threads(threads);
  }
  ~TeamScope() { omp_set_num_threads(before_); }
  TeamScope(const TeamScope&) = delete;

 private:
  int before_;
};

inline int team_size() { return omp_get_max_threads(); }

// While it lives, the calling thread runs the parts of all its teams itself. Nests.
class AloneScope {
 public:
  explicit AloneScope(bool alone) : before_(alone_) { alone_ |= alone; }
  ~AloneScope() { alone_ = before_; }
  AloneScope(const AloneScope&) = delete;
  AloneScope& operator=(const AloneScope&) = delete;
  static bool is_alone() { return alone_; }

 private:
  static inline constinit thread_local bool alone_ = false;
  bool before_;
};

// Bytes or operations below which waking the team costs more than it gains: a fork and join takes
// 1–2 µs, in which one core moves about this many floats.
inline constexpr int64_t kGrain = 8192;

// The part [begin, end) of `count` items that one of `parts` workers does; multiples of `align`
// where possible.
struct Part {
  int64_t begin, end;
};
inline Part part_of(int64_t count, int worker, int workers, int64_t align = 1) {
  int64_t units = (count + align - 1) / align;
  int64_t begin = units * worker / workers * align;
  int64_t end = units * (worker + 1) / workers * align;
  return {begin, end < count ? end : count};
}

// Calls body(worker, workers) for every worker of the team: each on its thread, or one after the
// other where the caller is alone.
template <class Body>
void on_team(const Body& body) {
  if (AloneScope::is_alone()) {
    for (int worker = 0, workers = team_size(); worker < workers; ++worker) body(worker, workers);
    return;
  }
  run_team(0, [&] { body(omp_get_thread_num(), omp_get_num_threads()); });
}

// Calls body(begin, end) on disjoint ranges that cover [0, count); on the caller's thread alone
// when there are fewer than two grains. Always the whole team or one thread: libgomp ends the
// threads that a smaller region leaves over.
template <class Body>
void parallel_for(int64_t count, int64_t grain, const Body& body, int64_t align = 1) {
  if (count < 2 * grain || team_size() == 1) {
    if (count > 0) body(int64_t(0), count);
    return;
  }
  on_team([&](int worker, int workers) {
    Part part = part_of(count, worker, workers, align);
    if (part.begin < part.end) body(part.begin, part.end);
  });
}

// Calls body(worker, workers) once on each thread of the team; alone when `work` is below two
// grains.
template <class Body>
void parallel_team(int64_t work, int64_t grain, const Body& body) {
  if (work < 2 * grain || team_size() == 1) {
    body(0, 1);
    return;
  }
  on_team(body);
}

}  // namespace stoker::cpu
