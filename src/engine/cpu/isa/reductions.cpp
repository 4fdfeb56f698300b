// Folds of a row or of columns. Sums run in many lanes over blocks of a few thousand elements and
// go on in double between blocks, so that the error does not grow with the length.
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

constexpr int kLanes = 64;
constexpr int64_t kBlock = 4096;

struct Sum {
  static constexpr float kStart = 0;
  STOKER_INLINE float of(float a, float b) { return a + b; }
};
// Once NaN, always NaN.
struct Max {
  static constexpr float kStart = -__builtin_inff();
  STOKER_INLINE float of(float a, float b) { return ((a >= b) | (a != a)) ? a : b; }
};
struct Min {
  static constexpr float kStart = __builtin_inff();
  STOKER_INLINE float of(float a, float b) { return ((a <= b) | (a != a)) ? a : b; }
};
struct Prod {
  static constexpr float kStart = 1;
  STOKER_INLINE float of(float a, float b) { return a * b; }
};
struct Square {
  static constexpr float kStart = 0;
  STOKER_INLINE float of(float a, float b) { return fma(b, b, a); }
};

// `combine` joins what F made of the lanes.
template <class F, class Combine>
float fold_block(const float* x, int64_t n) {
  float lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = F::kStart;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] = F::of(lanes[l], x[i + l]);
  float total = F::kStart;
  for (; i < n; ++i) total = F::of(total, x[i]);
  for (int l = 0; l < kLanes; ++l) total = Combine::of(total, lanes[l]);
  return total;
}

template <class F>
float fold(const float* x, int64_t n) {
  return fold_block<F, F>(x, n);
}

template <class F>
double blocked_sum(const float* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i += kBlock)
    total += double(fold_block<F, Sum>(x + i, n - i < kBlock ? n - i : kBlock));
  return total;
}

float sum(const float* x, int64_t n) { return float(blocked_sum<Sum>(x, n)); }

template <class F>
void fold_columns_into(const float* x, float* y, int64_t rows, int64_t n, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, x += stride)
    for (int64_t i = 0; i < n; ++i) y[i] = F::of(y[i], x[i]);
}

template <class F>
void fold_columns(const float* x, float* y, int64_t rows, int64_t n, int64_t stride) {
  float lanes[KernelTable::kColumns];
  for (int64_t i = 0; i < n; ++i) lanes[i] = F::kStart;
  fold_columns_into<F>(x, lanes, rows, n, stride);
  for (int64_t i = 0; i < n; ++i) y[i] = lanes[i];
}

void sum_columns(const float* x, float* y, int64_t rows, int64_t n, int64_t stride) {
  constexpr int64_t kRows = 256;
  double total[KernelTable::kColumns] = {};
  for (int64_t r = 0; r < rows; r += kRows) {
    float lanes[KernelTable::kColumns] = {};
    fold_columns_into<Sum>(x + r * stride, lanes, rows - r < kRows ? rows - r : kRows, n, stride);
    for (int64_t i = 0; i < n; ++i) total[i] += double(lanes[i]);
  }
  for (int64_t i = 0; i < n; ++i) y[i] = float(total[i]);
}

}  // namespace

void add_reductions(KernelTable& table) {
  table.fold[kSum] = sum;
  table.fold[kMax] = fold<Max>;
  table.fold[kMin] = fold<Min>;
  table.fold[kProd] = fold<Prod>;
  table.sum_of_squares = blocked_sum<Square>;
  table.fold_columns[kSum] = sum_columns;
  table.fold_columns[kMax] = fold_columns<Max>;
  table.fold_columns[kMin] = fold_columns<Min>;
  table.fold_columns[kProd] = fold_columns<Prod>;
}

}  // namespace stoker::cpu::STOKER_ISA
