// Which of the pixel kernels run.
#pragma once

#include "base/isa.h"
#include "data/image/isa/kernels.h"

namespace stoker::image {

// Those of one instruction set; the processor must have it.
const Kernels& kernels_of(Isa isa);
// The best that this host has.
const Kernels& kernels();

}  // namespace stoker::image
