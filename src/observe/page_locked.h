// Tensors in memory that a device copies from.
#pragma once

#include <stoker/tensor.h>

#include "base/host_memory.h"

namespace stoker {

// A copy in `memory`, which must outlive it: Backend::host_memory().
Tensor copy_into(HostMemory& memory, const Tensor& tensor);

}  // namespace stoker
