// Instructions for regions of the fuser.
#pragma once

#include "engine/cuda/fuser/region.h"

namespace stoker::cuda {

class Builder;

// Emits the kernel that makes the region's result; it is compiled with all others of the program.
void build_region(Builder& b, const fuser::Region& region);

}  // namespace stoker::cuda
