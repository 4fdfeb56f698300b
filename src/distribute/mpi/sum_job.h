// One sum over all processes, as a state machine that the communication thread advances: each process
// sends every other one a section of its contributions, adds up its own section in the order of the
// ranks, and sends the sum to all others. What arrives goes where it is needed: contributions into
// scratch memory, sums into the contribution itself.
#pragma once

#include <vector>

#include "distribute/mpi/requests.h"
#include "distribute/mpi/scratch.h"
#include "distribute/transport.h"

namespace stoker::distribute::mpi {

class SumJob {
 public:
  // What the jobs of a transport share; outlives them.
  struct Shared {
    MPI_Comm exchange = MPI_COMM_NULL, gather = MPI_COMM_NULL;  // one per round
    int process = 0, processes = 1;
    Requests requests = {};
    Scratch scratch = {};
  };
  // Elements of one job: larger sums are divided into jobs, so that one piece is added up while the
  // next one travels, and what arrives is still in a cache when it is added.
  static size_t most_elements(int processes, Wire wire);
  // Jobs that should be in their first round at the same time: bounds the scratch memory.
  static int64_t most_at_once(int processes);

  // `number`: jobs have the same number everywhere. One that is under way must stay in place.
  SumJob(Exchange exchange, uint64_t number, Shared& shared);
  ~SumJob();
  SumJob(const SumJob&) = delete;
  SumJob& operator=(const SumJob&) = delete;

  void begin();
  void advance();                         // as far as what has arrived allows
  bool is_done() const { return done_; }  // every contribution holds the sum
  bool in_first_round() const { return !summed_; }

 private:
  struct Section {
    size_t begin = 0, count = 0;
  };
  Section section(int process) const;
  void begin_small();
  void pack();
  void add_up();
  void send_sum();
  void receive_sums();
  void finish();
  bool plain() const;  // contributions can be sent as they lie
  std::byte* contribution(size_t index, size_t element) const;
  size_t bytes_on_wire(size_t elements) const;

  Exchange exchange_;
  int tag_;
  Shared& shared_;
  bool small_;  // one round: everything to every process
  bool summed_ = false, receives_sums_ = false, done_ = false;
  int sends_ = 0, receives_ = 0, sums_sent_ = 0, sums_received_ = 0;  // under way
  Scratch::Block sent_, got_, sums_;
};

}  // namespace stoker::distribute::mpi
