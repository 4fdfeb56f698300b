// The weight gradient of a depthwise convolution is, for every tap, a sum over pixels of x · dy,
// channel by channel. The sums of the taps of a row stay in registers.
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/vector.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

template <int kTaps>
void depthwise_taps(const float* x, int64_t x_step, int64_t tap_step, const float* dy,
                    int64_t dy_step, int64_t pixels, float* sums) {
  Vector total[kTaps];
#pragma GCC unroll 8
  for (int tap = 0; tap < kTaps; ++tap) total[tap] = load<Vector>(sums + tap * kLanes);
  for (int64_t i = 0; i < pixels; ++i, x += x_step, dy += dy_step) {
    Vector d = load<Vector>(dy);
#pragma GCC unroll 8
    for (int tap = 0; tap < kTaps; ++tap)
      total[tap] = multiply_add(load<Vector>(x + tap * tap_step), d, total[tap]);
  }
#pragma GCC unroll 8
  for (int tap = 0; tap < kTaps; ++tap) store(sums + tap * kLanes, total[tap]);
}

}  // namespace

void add_depthwise(KernelTable& table) {
  static_assert(KernelTable::kDepthwiseTaps == 8);
  table.depthwise_taps[0] = depthwise_taps<1>;
  table.depthwise_taps[1] = depthwise_taps<2>;
  table.depthwise_taps[2] = depthwise_taps<3>;
  table.depthwise_taps[3] = depthwise_taps<4>;
  table.depthwise_taps[4] = depthwise_taps<5>;
  table.depthwise_taps[5] = depthwise_taps<6>;
  table.depthwise_taps[6] = depthwise_taps<7>;
  table.depthwise_taps[7] = depthwise_taps<8>;
}

}  // namespace stoker::cpu::STOKER_ISA
