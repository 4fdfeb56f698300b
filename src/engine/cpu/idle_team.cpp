#include "engine/cpu/idle_team.h"

#include "engine/cpu/openmp.h"

namespace stoker::cpu {

IdleTeam::IdleTeam(int threads) : host_([this, threads] { run(threads); }) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return begun_ > 0; });
}

IdleTeam::~IdleTeam() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  host_.join();  // libgomp ends the team with it
}

void IdleTeam::run(int threads) {
  run_team(threads, [this] {
    std::lock_guard lock(mutex_);
    ++begun_;
  });
  std::unique_lock lock(mutex_);
  changed_.notify_all();
  changed_.wait(lock, [&] { return ending_; });
}

}  // namespace stoker::cpu
