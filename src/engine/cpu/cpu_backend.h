// The CPU backend: oneDNN for convolutions and matrix products, own vector kernels for the rest.
#pragma once

#include "engine/registry.h"

namespace stoker {

Backend& cpu_backend();
DeviceFamily& cpu_family();

}  // namespace stoker
