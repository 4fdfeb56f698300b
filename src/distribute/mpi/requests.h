// The messages that are under way: one call of MPI asks for all of them, since each call that finds
// nothing looks at every socket. Only on the communication thread.
#pragma once

#include <vector>

#include "distribute/mpi/mpi_calls.h"

namespace stoker::distribute::mpi {

class Requests {
 public:
  // Counts `pending` up now and down when the message has come or gone. `pending` must stay in place
  // until then.
  void add(MPI_Request request, int& pending);
  // Whether any message has come or gone since the last call. CallError.
  bool advance();

 private:
  std::vector<MPI_Request> requests_;
  std::vector<int*> pending_;  // by request
  std::vector<int> ended_;     // scratch
  std::vector<MPI_Status> statuses_;
};

}  // namespace stoker::distribute::mpi
