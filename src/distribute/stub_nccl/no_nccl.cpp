// The other side of nccl/nccl_group.h where a build has no NCCL.
#include "distribute/nccl/nccl_group.h"

namespace stoker::distribute {

std::string nccl_version() { return {}; }

std::vector<std::shared_ptr<Communicator>> nccl_communicators(const std::vector<std::string>&,
                                                              Transport*) {
  return {};
}

}  // namespace stoker::distribute
