// How often variables of this process got a mask or lost it: programs that were traced before look
// whether that concerns them.
#pragma once

#include <cstdint>

namespace stoker {

uint64_t mask_changes();

}  // namespace stoker
