// Dropout. The same Philox 4x32-10 as base/philox.h, on sixteen counters at a time: one lane is one
// block of four elements.
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

constexpr int kLanes = 16;
constexpr int64_t kElements = 4 * kLanes;

// bits[4 * l + w]: word w of block `first` + l
STOKER_INLINE void random_bits(uint64_t seed, uint64_t stream, uint64_t first, uint32_t* bits) {
  uint32_t a[kLanes], b[kLanes], c[kLanes], d[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    uint64_t block = first + uint64_t(l);
    a[l] = uint32_t(block);
    b[l] = uint32_t(block >> 32);
    c[l] = uint32_t(stream);
    d[l] = uint32_t(stream >> 32);
  }
  auto key0 = uint32_t(seed), key1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < kLanes; ++l) {
      uint64_t product0 = uint64_t(0xD2511F53U) * a[l], product1 = uint64_t(0xCD9E8D57U) * c[l];
      a[l] = uint32_t(product1 >> 32) ^ b[l] ^ key0;
      b[l] = uint32_t(product1);
      c[l] = uint32_t(product0 >> 32) ^ d[l] ^ key1;
      d[l] = uint32_t(product0);
    }
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  for (int l = 0; l < kLanes; ++l) {
    bits[4 * l] = a[l];
    bits[4 * l + 1] = b[l];
    bits[4 * l + 2] = c[l];
    bits[4 * l + 3] = d[l];
  }
}

void dropout(const float* x, float* y, int64_t n, uint64_t seed, uint64_t stream, uint64_t first,
             uint32_t threshold, float scale) {
  for (int64_t i = 0; i < n; i += kElements) {
    uint32_t bits[kElements];
    random_bits(seed, stream, (first + uint64_t(i)) / 4, bits);
    int64_t count = n - i < kElements ? n - i : kElements;
#pragma GCC ivdep
    for (int64_t l = 0; l < count; ++l)
      y[i + l] = (bits[l] >> 8) >= threshold ? x[i + l] * scale : 0.0F;
  }
}

}  // namespace

void add_random(KernelTable& table) { table.dropout = dropout; }

}  // namespace stoker::cpu::STOKER_ISA
