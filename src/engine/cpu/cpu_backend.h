// The CPU backend: oneDNN for convolutions and matrix products, own vector kernels for the rest.
#pragma once

#include "engine/backend.h"

namespace stoker {

Backend& cpu_backend();

}  // namespace stoker
