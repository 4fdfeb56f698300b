// Products of one row with a matrix, as attention to a cache and the layers of a step of generation
// have them: each element of the matrix is read once, in the order in which it lies in memory.
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/vector.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

STOKER_INLINE float sum_of(Vector v) {
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += v[lane];
  return sum;
}

// Four rows at a time; each sum has the same order whatever the count.
void dot_rows(const float* x, const float* rows, int64_t stride, int64_t count, int64_t n,
              float scale, float* y) {
  int64_t whole = n - n % kLanes, j = 0;
  for (; j + 4 <= count; j += 4) {
    const float* row[4] = {rows + j * stride, rows + (j + 1) * stride, rows + (j + 2) * stride,
                           rows + (j + 3) * stride};
    Vector sum[4] = {};
    for (int64_t i = 0; i < whole; i += kLanes) {
      auto v = load<Vector>(x + i);
      for (int r = 0; r < 4; ++r) sum[r] = multiply_add(v, load<Vector>(row[r] + i), sum[r]);
    }
    for (int r = 0; r < 4; ++r) {
      float rest = sum_of(sum[r]);
      for (int64_t i = whole; i < n; ++i) rest = fma(x[i], row[r][i], rest);
      y[j + r] = rest * scale;
    }
  }
  for (; j < count; ++j) {
    const float* row = rows + j * stride;
    Vector sum = {};
    for (int64_t i = 0; i < whole; i += kLanes)
      sum = multiply_add(load<Vector>(x + i), load<Vector>(row + i), sum);
    float rest = sum_of(sum);
    for (int64_t i = whole; i < n; ++i) rest = fma(x[i], row[i], rest);
    y[j] = rest * scale;
  }
}

// y[i] += x[j] · row[j][i], for kCount rows in their order
template <int kCount>
STOKER_INLINE void mix(const float* x, const float* rows, int64_t stride, int64_t n, float* y) {
  int64_t whole = n - n % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    auto sum = load<Vector>(y + i);
    for (int r = 0; r < kCount; ++r)
      sum = multiply_add(Vector{} + x[r], load<Vector>(rows + r * stride + i), sum);
    store(y + i, sum);
  }
  for (int64_t i = whole; i < n; ++i)
    for (int r = 0; r < kCount; ++r) y[i] = fma(x[r], rows[r * stride + i], y[i]);
}

void mix_rows(const float* x, const float* rows, int64_t stride, int64_t count, int64_t n,
              float* y) {
  int64_t j = 0;
  for (; j + 8 <= count; j += 8) mix<8>(x + j, rows + j * stride, stride, n, y);
  for (; j < count; ++j) mix<1>(x + j, rows + j * stride, stride, n, y);
}

}  // namespace

void add_decoding(KernelTable& table) {
  table.dot_rows = dot_rows;
  table.mix_rows = mix_rows;
}

}  // namespace stoker::cpu::STOKER_ISA
