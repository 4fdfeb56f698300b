// Whether the team's cores are wanted by others too: by the pipeline's threads, above all.
//
// A thread of the team that waits for the others turns in a loop for milliseconds before it sleeps.
// Alone on its core that is the fastest way to wait. Beside a pipeline it takes the core from those
// who make the next batch, and the step waits for what it keeps from being made. The kernel tells
// the two cases apart: on a crowded core a thread waits for its turn.
// docs/design/014-crowded-cores.md has what was measured.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace stoker::cpu {

// The decision, over windows of a fifth of a second.
class Crowding {
 public:
  bool is_due(int64_t now) const { return now >= due_; }

  // `delayed`: how long the calling thread has been ready to run and had no core, in all. Both in
  // nanoseconds. Whether the cores are crowded now.
  bool update(int64_t now, int64_t delayed);

 private:
  int64_t begin_ = 0, due_ = 0, before_ = 0, crowded_until_ = 0;
};

// An OpenMP team that never gets work. libgomp lets threads that wait sleep soon when it has more
// threads than there are cores, and counts only threads of its own. While this lives, it does.
class IdleTeam {
 public:
  explicit IdleTeam(int threads);
  ~IdleTeam();
  IdleTeam(const IdleTeam&) = delete;
  IdleTeam& operator=(const IdleTeam&) = delete;

 private:
  void run(int threads);

  std::mutex mutex_;
  std::condition_variable changed_;
  int begun_ = 0;
  bool ending_ = false;
  std::thread host_;  // last: it uses the others
};

// Called before every step of a team of so many threads: looks, when a window is over, and has or
// ends an idle team. Does nothing when OMP_WAIT_POLICY or GOMP_SPINCOUNT are set: the user has
// chosen.
void make_room(int threads);

}  // namespace stoker::cpu
