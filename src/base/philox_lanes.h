// The numbers of base/philox.h, sixteen blocks at a time, as loops that compilers turn into vectors.
// Always inlined, so that files compiled for different instruction sets share no symbol.
#pragma once

#include <stdint.h>

namespace stoker {

inline constexpr int kPhiloxLanes = 16;                // blocks
inline constexpr int kPhiloxWords = 4 * kPhiloxLanes;  // of 32 random bits

// bits[4 * l + w]: word w of block `first` + l of the sequence that (seed, stream) names.
[[gnu::always_inline]] inline void philox_lanes(uint64_t seed, uint64_t stream, uint64_t first,
                                                uint32_t* bits) {
  uint32_t a[kPhiloxLanes], b[kPhiloxLanes], c[kPhiloxLanes], d[kPhiloxLanes];
  for (int l = 0; l < kPhiloxLanes; ++l) {
    uint64_t block = first + uint64_t(l);
    a[l] = uint32_t(block);
    b[l] = uint32_t(block >> 32);
    c[l] = uint32_t(stream);
    d[l] = uint32_t(stream >> 32);
  }
  auto key0 = uint32_t(seed), key1 = uint32_t(seed >> 32);
#pragma GCC unroll 1
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 1
    for (int l = 0; l < kPhiloxLanes; ++l) {
      uint64_t product0 = uint64_t(0xD2511F53U) * a[l], product1 = uint64_t(0xCD9E8D57U) * c[l];
      a[l] = uint32_t(product1 >> 32) ^ b[l] ^ key0;
      b[l] = uint32_t(product1);
      c[l] = uint32_t(product0 >> 32) ^ d[l] ^ key1;
      d[l] = uint32_t(product0);
    }
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  for (int l = 0; l < kPhiloxLanes; ++l) {
    bits[4 * l] = a[l];
    bits[4 * l + 1] = b[l];
    bits[4 * l + 2] = c[l];
    bits[4 * l + 3] = d[l];
  }
}

}  // namespace stoker
