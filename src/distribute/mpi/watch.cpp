#include "distribute/mpi/watch.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace stoker::distribute::mpi {

namespace {

constexpr int kTag = 1;

// A process that has ended and was not waited for yet is as gone as one without a number.
bool is_gone(int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return true;
  size_t name_end = text.rfind(')');  // the name may hold spaces
  return name_end != std::string::npos && name_end + 2 < text.size() &&
         (text[name_end + 2] == 'Z' || text[name_end + 2] == 'X');
}

double seconds(Watch::Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Watch::Watch(int process, std::vector<std::string> hosts, std::vector<bool> local)
    : process_(process), hosts_(std::move(hosts)), local_(std::move(local)), peers_(hosts_.size()) {
  own_.pid = getpid();
}

void Watch::set_place(int64_t epoch, int64_t step) {
  std::lock_guard lock(mutex_);
  own_.epoch = epoch;
  own_.step = step;
}

void Watch::fail(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (own_.state == Beat::State::failed) return;
  own_.state = Beat::State::failed;
  size_t length = std::min(why.size(), own_.why.size() - 1);
  std::copy_n(why.begin(), length, own_.why.begin());
  sent_ = {};
}

void Watch::end() {
  std::lock_guard lock(mutex_);
  if (own_.state == Beat::State::running) own_.state = Beat::State::over;
  sent_ = {};
}

void Watch::tick(MPI_Comm comm, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  // This process was stopped, not the others: they were heard of as long ago as it could hear.
  if (ticked_ != Clock::time_point() && now - ticked_ > kSilent) {
    for (Peer& peer : peers_) peer.heard += now - ticked_;
    woke_ = now;
  }
  ticked_ = now;
  receive(comm, now);
  if (now - sent_ < kBeat) return;
  sent_ = now;
  send(comm);
  look_up();
}

void Watch::look_up_now() {
  std::lock_guard lock(mutex_);
  look_up();
}

void Watch::receive(MPI_Comm comm, Clock::time_point now) {
  for (size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    if (int(i) == process_ || peer.dead) continue;
    for (int arrived = 1; arrived != 0;) {
      if (peer.receive == MPI_REQUEST_NULL) {
        if (!peer.known && peer.heard == Clock::time_point()) peer.heard = now;
        check(MPI_Irecv(&peer.incoming, int(sizeof(Beat)), MPI_BYTE, int(i), kTag, comm,
                        &peer.receive),
              "hearing a process");
      }
      check(MPI_Test(&peer.receive, &arrived, MPI_STATUS_IGNORE), "hearing a process");
      if (arrived == 0) break;
      peer.beat = peer.incoming;
      peer.beat.why.back() = '\0';
      peer.known = true;
      peer.heard = now;
    }
  }
}

void Watch::send(MPI_Comm comm) {
  own_.sums = sums_;
  for (size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    if (int(i) == process_ || peer.dead) continue;
    int sent = 1;
    if (peer.send != MPI_REQUEST_NULL)
      check(MPI_Test(&peer.send, &sent, MPI_STATUS_IGNORE), "telling a process");
    if (sent == 0) continue;  // it does not listen: the next beat will be as good
    peer.outgoing = own_;
    check(MPI_Isend(&peer.outgoing, int(sizeof(Beat)), MPI_BYTE, int(i), kTag, comm, &peer.send),
          "telling a process");
  }
}

void Watch::look_up() {
  for (size_t i = 0; i < peers_.size(); ++i)
    if (int(i) != process_ && local_[i] && peers_[i].known && !peers_[i].dead &&
        peers_[i].beat.state != Beat::State::over)
      peers_[i].dead = is_gone(peers_[i].beat.pid);
}

std::string Watch::name(size_t peer) const {
  return fmt::format("rank {} on {}", peer, hosts_[peer]);
}

std::string Watch::place(const Beat& beat) const {
  // Every process takes part in every sum: where this one is, the others have been, also those whose
  // last beat is older.
  auto [epoch, step] = std::max(std::pair(beat.epoch, beat.step), std::pair(own_.epoch, own_.step));
  if (epoch < 0) return "before its first step";
  return step == 0 ? fmt::format("at the beginning of epoch {}", epoch + 1)
                   : fmt::format("after step {} of epoch {}", step, epoch + 1);
}

std::string Watch::fault() const {
  std::lock_guard lock(mutex_);
  // One that died without a word is the reason why others failed; one that failed dies afterwards.
  for (size_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].dead && peers_[i].beat.state == Beat::State::running)
      return fmt::format("{} died {}", name(i), place(peers_[i].beat));
  for (size_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = peers_[i];
    if (peer.known && peer.beat.state == Beat::State::failed)
      return fmt::format("{} failed {}: {}", name(i), place(peer.beat), peer.beat.why.data());
  }
  return {};
}

bool Watch::has_failed() const {
  std::lock_guard lock(mutex_);
  return own_.state == Beat::State::failed;
}

std::string Watch::missing(const std::string& what, Clock::duration waited) const {
  std::lock_guard lock(mutex_);
  Clock::time_point now = Clock::now();
  std::string silent, late;
  for (size_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = peers_[i];
    if (int(i) == process_) continue;
    if (now - peer.heard > kSilent)
      silent += fmt::format(
          "{}{} has not been heard of for {:.1f} s, {}: it was stopped, or its "
          "host or link is down",
          silent.empty() ? "" : "; ", name(i), seconds(now - peer.heard), place(peer.beat));
    else if (peer.beat.sums < sums_)
      late += fmt::format(
          "{}{} lives, but has not come, {}: its input or a callback takes that long, "
          "or it hangs",
          late.empty() ? "" : "; ", name(i), place(peer.beat));
  }
  std::string who = !silent.empty() ? silent : late;
  return fmt::format("{} did not end within {:.1f} s: {}", what, seconds(waited),
                     who.empty() ? "all ranks have come; the link is slow or broken" : who);
}

bool Watch::all_over() const {
  std::lock_guard lock(mutex_);
  Clock::time_point now = Clock::now();
  for (size_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = peers_[i];
    bool waits = int(i) != process_ && !peer.dead && now - peer.heard < kSilent &&
                 peer.beat.state == Beat::State::running;
    if (waits) return false;
  }
  return true;
}

bool Watch::speaks() const {
  std::lock_guard lock(mutex_);
  Clock::time_point now = Clock::now();
  // Those who waited for a process that was stopped have spoken of it, and may be gone by now.
  if (now - woke_ < 2 * kSilent) return false;
  for (int i = 0; i < process_; ++i)
    if (!peers_[size_t(i)].dead && now - peers_[size_t(i)].heard < kSilent) return false;
  return true;
}

}  // namespace stoker::distribute::mpi
