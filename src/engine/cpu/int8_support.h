// Whether this host sums products of uint8 with int8 in 32 bits at once (VNNI). Elsewhere int8 kernels
// halve eight-bit weights: docs/design/030.
#pragma once

namespace stoker::cpu {

bool has_exact_int8_sums();

}  // namespace stoker::cpu
