// An OpenMP team that never gets work. libgomp lets threads that wait sleep soon when it has more
// threads than there are cores, and counts only threads of its own; otherwise they turn in a loop
// for milliseconds. While this lives, they sleep soon.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace stoker::cpu {

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

}  // namespace stoker::cpu
