// One tile of a matrix product, its sums in registers: some rows of a times two vectors of columns
// of b.
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/vector.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

// 6 × 2 vectors of sums leave room for two of b and one of a with 16 registers.
constexpr int kRows = KernelTable::kGemmRows, kVectors = 2;

template <int kUsed>
void gemm_tile(const float* a, const float* b, int64_t k, float* c, int64_t c_line, bool add) {
  Vector sum[kUsed][kVectors] = {};
#pragma GCC unroll 6
  for (int row = 0; row < kUsed; ++row) __builtin_prefetch(c + row * c_line, 1);
  for (int64_t i = 0; i < k; ++i, a += kRows, b += kVectors * kLanes) {
    Vector right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = load<Vector>(b + v * kLanes);
#pragma GCC unroll 6
    for (int row = 0; row < kUsed; ++row) {
      Vector left = Vector{} + a[row];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[row][v] = multiply_add(left, right[v], sum[row][v]);
    }
  }
#pragma GCC unroll 6
  for (int row = 0; row < kUsed; ++row)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* to = c + row * c_line + v * kLanes;
      store(to, add ? load<Vector>(to) + sum[row][v] : sum[row][v]);
    }
}

template <int kUsed>
void add_rows(KernelTable& table) {
  table.gemm_tile[kUsed - 1] = gemm_tile<kUsed>;
  if constexpr (kUsed > 1) add_rows<kUsed - 1>(table);
}

}  // namespace

void add_gemm(KernelTable& table) {
  table.gemm_columns = kVectors * kLanes;
  add_rows<kRows>(table);
}

}  // namespace stoker::cpu::STOKER_ISA
