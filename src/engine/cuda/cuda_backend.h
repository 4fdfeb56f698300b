// The GPU engine behind engine/backend.h. Where it is not built, engine/stub_cuda has the same
// function, so that no caller asks the preprocessor.
#pragma once

#include "engine/registry.h"

namespace stoker {

DeviceFamily& cuda_family();

// What every build knows of it.
inline constexpr BackendTraits kCudaTraits{.name = "cuda",
                                           .title = "GPU",
                                           .numbered = true,
                                           .preferred = true,
                                           .beside_host = true,
                                           .own_memory = true,
                                           .pins = true,
                                           .captures = true,
                                           .tf32 = true,
                                           .half_products = true,
                                           .tensor_cores = true,
                                           .lanes = 1};

}  // namespace stoker
