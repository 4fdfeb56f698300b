#include <stoker/random.h>

#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/philox.h"

namespace stoker {

namespace {

__extension__ using Uint128 = unsigned __int128;

// [0, range) for range > 0: multiply and shift, redrawing the few values that would be drawn more
// often than the others (Lemire, "Fast random integer generation in an interval", 2019).
uint64_t below(Rng& rng, uint64_t range) {
  uint64_t uneven = -range % range;  // 2^64 mod range
  while (true) {
    Uint128 product = Uint128(rng.next64()) * range;
    if (uint64_t(product) >= uneven) return uint64_t(product >> 64);
  }
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  return philox_block(counter, key);
}

uint32_t random_bits(uint64_t seed, uint64_t stream, uint64_t index) {
  return random_block(seed, stream, index / 4)[index % 4];
}

uint32_t Rng::operator()() {
  if (position_ % 4 == 0) block_ = random_block(seed_, stream_, position_ / 4);
  return block_[position_++ % 4];
}

float Rng::normal() {
  float nonzero = 1 - uniform();  // (0, 1], so that the logarithm is finite
  float radius = std::sqrt(-2 * std::log(nonzero));
  return radius * std::cos(2 * std::numbers::pi_v<float> * uniform());
}

float Rng::truncated_normal() {
  while (true) {
    float value = normal();
    if (std::abs(value) <= 2) return value;
  }
}

int64_t Rng::integer(int64_t low, int64_t high) {
  if (low >= high)
    throw ValueError(fmt::format("Rng::integer: the range [{}, {}) is empty", low, high));
  return int64_t(uint64_t(low) + below(*this, uint64_t(high) - uint64_t(low)));
}

}  // namespace stoker
