// Which processes of the job are alive, and how far they have come. Every process sends its state to
// every other several times per second, on a communicator of its own; processes of this host are also
// looked up by their number, because a dead one sends nothing. Never blocks.
//
// The communication thread calls tick(); the rest may be called from any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "distribute/mpi/mpi_calls.h"

namespace stoker::distribute::mpi {

// One beat, as it travels.
struct Beat {
  enum class State : int64_t { running, failed, over };
  int64_t pid = 0;
  State state = State::running;
  int64_t epoch = -1, step = -1;   // of the training; -1: none yet
  int64_t sums = 0;                // that it has begun
  std::array<char, 512> why = {};  // it failed; ends with a zero
};

class Watch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBeat{100};
  // Beats that may be late on a machine whose cores are all busy, before a process counts as silent.
  static constexpr std::chrono::seconds kSilent{2};

  // `local`: which processes run on this host.
  Watch(int process, std::vector<std::string> hosts, std::vector<bool> local);

  void set_place(int64_t epoch, int64_t step);
  void count_sums(int64_t begun) { sums_ += begun; }
  // This process gives up, and the others hear why.
  void fail(const std::string& why);
  void end();

  void tick(MPI_Comm comm, Clock::time_point now);
  void look_up_now();  // the processes of this host, before the next beat is due
  // What another process failed with or how it died: "rank 2 on node7 died after step 37 of epoch 2".
  // Empty: nothing is known.
  std::string fault() const;
  bool has_failed() const;  // this process, by fail()
  // After `waited` for `what`: which processes are missing, and possible reasons.
  std::string missing(const std::string& what, Clock::duration waited) const;
  // Every process alive knows that this one has finished.
  bool all_over() const;
  // Whether this is the first process alive, which reports for all. A stopped process never does.
  bool speaks() const;

 private:
  struct Peer {
    Beat beat, incoming, outgoing;
    Clock::time_point heard;
    MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
    bool known = false, dead = false;
  };

  void receive(MPI_Comm comm, Clock::time_point now);
  void send(MPI_Comm comm);
  void look_up();
  std::string name(size_t peer) const;
  std::string place(const Beat& beat) const;

  const int process_;
  const std::vector<std::string> hosts_;
  const std::vector<bool> local_;
  mutable std::mutex mutex_;
  Beat own_;
  std::atomic<int64_t> sums_ = 0;
  std::vector<Peer> peers_;
  Clock::time_point sent_ = {}, ticked_ = {};
  Clock::time_point woke_ = {};  // behind a time in which this process was stopped
};

}  // namespace stoker::distribute::mpi
