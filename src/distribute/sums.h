// Contributions of replicas, added in the order of their ranks. Everything that sums over replicas
// on a host ends here, so that a sum has the same bits whatever carried it.
#pragma once

#include <cstddef>
#include <span>

#include "engine/collective.h"

namespace stoker::distribute {

// out[i] = contributions[0][i] + contributions[1][i] + …, for i in [0, elements). `out` may be one
// of the contributions. Wire::bfloat16: contributions are float32 and are rounded here, or were.
void sum_in_order(std::span<const void* const> contributions, size_t elements, Wire wire,
                  void* out);

// Between memory and the wire; the identity but for bfloat16.
void to_wire(const void* memory, size_t elements, Wire wire, void* out);
void from_wire(const void* data, size_t elements, Wire wire, void* memory);

}  // namespace stoker::distribute
