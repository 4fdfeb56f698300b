#include "engine/cpu/crowding.h"

#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/clock.h"

namespace stoker::cpu {

namespace {

constexpr int64_t kWindow = 200'000'000;  // nanoseconds, at least, between two looks
constexpr int64_t kLinger = 1'000'000'000;
// A training that decodes on its own two cores is delayed by 20 to 45 % of its time, one whose
// pipeline only copies by 2 to 9 %.
constexpr double kCrowded = 0.20, kStillCrowded = 0.10;

// How long this thread has waited for a core, which Linux counts for every thread; 0 where it does
// not. Without a stream: a steady step allocates nothing.
int64_t delay_of_this_thread() {
  int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 96> buffer;
  ssize_t length = read(file, buffer.data(), buffer.size());
  close(file);
  std::string_view text(buffer.data(), size_t(std::max<ssize_t>(length, 0)));
  size_t space = text.find(' ');  // "time on a core, time ready without one, turns"
  int64_t delay = 0;
  if (space != text.npos)
    std::from_chars(text.data() + space + 1, text.data() + text.size(), delay);
  return delay;
}

bool user_chose_waiting() {
  return std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr;
}

}  // namespace

bool Crowding::update(int64_t now, int64_t delayed) {
  // No share of the first window is known, nor of one in which another thread took over.
  bool known = due_ != 0 && delayed >= before_;
  double share = known ? double(delayed - before_) / double(std::max<int64_t>(now - begin_, 1)) : 0;
  bool crowded = now < crowded_until_;
  if (share > (crowded ? kStillCrowded : kCrowded)) crowded_until_ = now + kLinger;
  begin_ = now;
  due_ = now + kWindow;
  before_ = delayed;
  return now < crowded_until_;
}

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
#pragma omp parallel num_threads(threads)
  {
    std::lock_guard lock(mutex_);
    ++begun_;
  }
  std::unique_lock lock(mutex_);
  changed_.notify_all();
  changed_.wait(lock, [&] { return ending_; });
}

void make_room(int threads) {
  static const bool user_chose = user_chose_waiting();
  static std::mutex mutex;
  static Crowding crowding;
  static std::unique_ptr<IdleTeam> idle;
  if (threads < 2 || user_chose) return;
  int64_t now = steady_clock().now();
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || !crowding.is_due(now)) return;
  if (!crowding.update(now, delay_of_this_thread()))
    idle.reset();
  else if (idle == nullptr)  // one thread more than cores; a team's caller is not counted
    idle = std::make_unique<IdleTeam>(std::max(omp_get_num_procs() - threads, 0) + 2);
}

}  // namespace stoker::cpu
