// Dropout.
#include "base/ivdep.h"
#include "base/philox_lanes.h"
#include "engine/cpu/isa/families.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

void dropout(const float* x, float* y, int64_t n, uint64_t seed, uint64_t stream, uint64_t first,
             uint32_t threshold, float scale) {
  for (int64_t i = 0; i < n; i += kPhiloxWords) {
    uint32_t bits[kPhiloxWords];
    philox_lanes(seed, stream, (first + uint64_t(i)) / 4, bits);
    int64_t count = n - i < kPhiloxWords ? n - i : kPhiloxWords;
    STOKER_IVDEP
    for (int64_t l = 0; l < count; ++l)
      y[i + l] = (bits[l] >> 8) >= threshold ? x[i + l] * scale : 0.0F;
  }
}

}  // namespace

void add_random(KernelTable& table) { table.dropout = dropout; }

}  // namespace stoker::cpu::STOKER_ISA
