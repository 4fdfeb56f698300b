// The inside of a Strategy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/distribute.h>

#include "distribute/replicated.h"

namespace stoker {

struct Strategy::Impl {
  std::vector<std::string> names;  // of the devices of this process
  std::shared_ptr<distribute::ReplicaPlan> plan;
};

namespace distribute {

// ValueError for options that cannot be meant.
void check(const CommunicationOptions& options);
// One replica per device, on all processes alike. ValueError for a device that does not exist.
std::shared_ptr<ReplicaPlan> make_plan(const std::vector<std::string>& devices,
                                       const CommunicationOptions& options, Transport* transport);

}  // namespace distribute

}  // namespace stoker
