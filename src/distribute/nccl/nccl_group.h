// Sums on GPUs by NCCL, one communicator per replica, as part of the captured step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distribute/transport.h"

namespace stoker::distribute {

// Whether this build has NCCL, and which: "2.28.9"; empty: it has none.
std::string nccl_version();

// The replicas of this process, one per GPU, among those of all processes; `buses` are the PCI
// addresses of their GPUs. Collective; null transport: a single process. Empty if
// NCCL cannot be used: it is missing, a device is no GPU, or two replicas share a GPU.
std::vector<std::shared_ptr<Communicator>> nccl_communicators(const std::vector<std::string>& buses,
                                                              Transport* transport);

}  // namespace stoker::distribute
