// float32 to bfloat16, to the nearest and even, and back.
#include "base/ivdep.h"
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

void to_bfloat16(const float* x, uint16_t* y, int64_t n) {
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    auto bits = uint32_t(to_bits(x[i]));
    uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40U;
    y[i] = uint16_t((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
  }
}

void from_bfloat16(const uint16_t* x, float* y, int64_t n) {
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = from_bits(int32_t(uint32_t(x[i]) << 16));
}

}  // namespace

void add_convert(KernelTable& table) {
  table.to_bfloat16 = to_bfloat16;
  table.from_bfloat16 = from_bfloat16;
}

}  // namespace stoker::cpu::STOKER_ISA
