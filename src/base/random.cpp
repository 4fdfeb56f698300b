#include <stoker/random.h>

#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/philox.h"
#include "base/random_below.h"

namespace stoker {

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
  uint64_t range = uint64_t(high) - uint64_t(low);
  return int64_t(uint64_t(low) + random_below([this] { return next64(); }, range));
}

}  // namespace stoker
