// RAII and error texts around MPI's C interface. Only on the communication thread.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

#include "engine/collective.h"

namespace stoker::distribute::mpi {

// A call of MPI failed: its own text, which does not say which process is gone.
class CallError : public CollectiveError {
 public:
  using CollectiveError::CollectiveError;
};

// CallError unless the call succeeded.
inline void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(size_t(length));
  throw CallError(std::string("MPI: ") + what + ": " + text);
}

// All processes, with messages of its own. Freed by release(), while MPI still runs.
class Comm {
 public:
  Comm() {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "a communicator");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  void release() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace stoker::distribute::mpi
