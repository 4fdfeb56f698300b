// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011),
// inline for kernels that draw a number per element; <stoker/random.h> has the same function for
// all other code. Always inlined, so that files compiled for different instruction sets share no
// symbol.
#pragma once

#include <array>
#include <cstdint>

namespace stoker {

using PhiloxBlock = std::array<uint32_t, 4>;

[[gnu::always_inline]] constexpr PhiloxBlock philox_block(PhiloxBlock counter,
                                                          std::array<uint32_t, 2> key) {
  constexpr int kRounds = 10;
  constexpr uint64_t kMultiplier0 = 0xD2511F53U, kMultiplier1 = 0xCD9E8D57U;
  constexpr uint32_t kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;
  for (int round = 0; round < kRounds; ++round) {
    uint64_t product0 = kMultiplier0 * counter[0];
    uint64_t product1 = kMultiplier1 * counter[2];
    counter = {uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
               uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// Elements 4 * block … 4 * block + 3 of the sequence that (seed, stream) names.
[[gnu::always_inline]] constexpr PhiloxBlock random_block(uint64_t seed, uint64_t stream,
                                                          uint64_t block) {
  return philox_block(
      {uint32_t(block), uint32_t(block >> 32), uint32_t(stream), uint32_t(stream >> 32)},
      {uint32_t(seed), uint32_t(seed >> 32)});
}

}  // namespace stoker
