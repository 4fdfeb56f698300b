// Counter-based random numbers (Philox 4x32-10): randomness is a function of (seed, stream,
// counter), not a state, so that any element of any sequence can be drawn on its own, on any
// thread, in any order.
#pragma once

#include <array>
#include <cstdint>

namespace stoker {

// Four random words for one counter under one key. Pure.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// 32 random bits of element `index` of the sequence that (seed, stream) names: word index % 4 of
// block index / 4.
uint32_t random_bits(uint64_t seed, uint64_t stream, uint64_t index);

// [0, 1) from 24 of 32 random bits; exact in float.
inline float unit_float(uint32_t bits) { return float(bits >> 8) * 0x1p-24F; }

// A generator that walks one such sequence, also for the distributions of <random>. Copying it
// copies its place.
class Rng {
 public:
  using result_type = uint32_t;
  explicit Rng(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  static constexpr uint32_t min() { return 0; }
  static constexpr uint32_t max() { return UINT32_MAX; }
  uint32_t operator()();
  uint64_t next64() {
    uint64_t high = (*this)();  // on its own: C++ leaves the order of the operands of | open
    return high << 32 | (*this)();
  }
  float uniform() { return unit_float((*this)()); }  // [0, 1)
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  float normal();                              // mean 0, deviation 1 (Box–Muller)
  float truncated_normal();                    // redrawn beyond two deviations, as Keras
  int64_t integer(int64_t low, int64_t high);  // [low, high), without modulo bias

 private:
  uint64_t seed_, stream_, position_ = 0;
  std::array<uint32_t, 4> block_{};
};

}  // namespace stoker
