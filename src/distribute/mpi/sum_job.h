// One sum over all processes, as a state machine that the communication thread advances.
#pragma once

#include <memory>
#include <vector>

#include "distribute/mpi/mpi_calls.h"
#include "distribute/transport.h"

namespace stoker::distribute::mpi {

class SumJob {
 public:
  // Elements of one job at most: counts of MPI are ints.
  static constexpr size_t kMost = size_t(1) << 27;

  SumJob(Exchange exchange, int process, int processes);

  // Sums are begun in the same order everywhere, on a communicator of their own each round.
  void begin(MPI_Comm exchange);
  // Whether the first round has ended and the second may begin, once all earlier jobs have begun
  // theirs.
  bool wants_second_round();
  void begin_second_round(MPI_Comm gather);
  bool in_second_round() const { return second_; }
  bool is_done();  // and every contribution holds the sum

 private:
  struct Section {
    size_t begin = 0, count = 0;
  };
  Section section(int process) const;
  bool arrived();
  void pack();
  void add_up();
  void spread();
  bool plain() const;  // contributions can be sent as they lie
  std::byte* contribution(size_t index, size_t element) const;

  Exchange exchange_;
  int process_, processes_;
  bool small_;  // one round: everything to every rank
  bool second_ = false, done_ = false, summed_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<int> counts_, places_, got_counts_, got_places_;
  std::vector<std::byte> sent_, got_, sums_;
};

}  // namespace stoker::distribute::mpi
