// Between the processes that a launcher of MPI started (mpirun, srun). MPI runs on one communication
// thread, which initialises it, makes all its calls and finalises it, so that sums go on while the
// program computes and MPI_THREAD_FUNNELED is enough.
//
// Every process sends every other one a section of its contributions, adds up its own section in the
// order of the ranks and sends the sum to all: what a ring sends, in two rounds, and with bits that
// depend on the number of replicas alone.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "distribute/transport.h"

namespace stoker::distribute {

// How this process was started, as the environment of the usual launchers says.
struct Launch {
  std::string launcher;  // "mpirun", "srun"; empty: by itself
  int processes = 1;     // as far as it says
};
Launch found_launch();
// The same; Error where other variables (WORLD_SIZE, TF_CONFIG) say that there are several processes,
// which would train alone.
Launch launch_of_workers();

// Whether this build has MPI, and which: "Open MPI 4.1.4"; empty: it has none.
std::string mpi_version();

// The transport of this process, made at the first call, which all processes make together; lives
// until the process ends. `deadline`: of every call from then on. Error without MPI.
Transport& mpi_transport(std::chrono::milliseconds deadline);
// The one that was made; null: none was.
Transport* current_transport();

}  // namespace stoker::distribute
