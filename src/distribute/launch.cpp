#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <stoker/error.h>

#include "distribute/mpi/mpi_transport.h"

namespace stoker::distribute {

namespace {

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return 0;
  std::string_view view(text);
  int number = 0;
  auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
  return error == std::errc() && end == view.data() + view.size() ? number : 0;
}

// Other systems' ways to start processes, which have no MPI behind them.
void refuse_other_launches() {
  constexpr const char* kAdvice =
      "processes find each other through MPI: start them with mpirun -n N or srun -n N";
  if (int size = number_in("WORLD_SIZE"); size > 1)
    throw Error(fmt::format(
        "MultiWorkerMirroredStrategy: WORLD_SIZE is {}, and no launcher of MPI started this "
        "process; {}, or unset WORLD_SIZE",
        size, kAdvice));
  if (const char* text = std::getenv("TF_CONFIG"); text != nullptr && *text != 0)
    throw Error(fmt::format(
        "MultiWorkerMirroredStrategy: TF_CONFIG is set, and no launcher of MPI started this "
        "process; {}, or unset TF_CONFIG",
        kAdvice));
}

}  // namespace

Launch launch_of_workers() {
  Launch found = found_launch();
  if (found.launcher.empty()) refuse_other_launches();
  return found;
}

// Open MPI and its relatives, MPICH and Intel MPI (hydra), MVAPICH; then Slurm's own launcher, whose
// variables are set in batch scripts too: a step's number says that srun started the process.
Launch found_launch() {
  constexpr std::array<std::pair<const char*, const char*>, 4> kSizes = {{
      {"OMPI_COMM_WORLD_SIZE", "mpirun"},
      {"PMI_SIZE", "mpirun"},
      {"MV2_COMM_WORLD_SIZE", "mpirun"},
      {"MPI_LOCALNRANKS", "mpirun"},
  }};
  for (auto [variable, launcher] : kSizes)
    if (int size = number_in(variable); size > 0) return {launcher, size};
  if (std::getenv("SLURM_STEP_ID") != nullptr && std::getenv("SLURM_PROCID") != nullptr)
    if (int size = number_in("SLURM_STEP_NUM_TASKS"); size > 0) return {"srun", size};
  return {};
}

}  // namespace stoker::distribute
