// The other side of mpi/mpi_transport.h where a build has no MPI.
#include <stoker/error.h>

#include "distribute/mpi/mpi_transport.h"

namespace stoker::distribute {

std::string mpi_version() { return {}; }

Transport& mpi_transport(std::chrono::milliseconds) {
  throw Error(
      "MultiWorkerMirroredStrategy: this process is one of several, but this build of Stoker has "
      "no MPI to reach the others; install Open MPI (libopenmpi-dev openmpi-bin) and build again "
      "with -DSTOKER_MPI=ON");
}

Transport* current_transport() { return nullptr; }

}  // namespace stoker::distribute
