// Softmax, its losses and their gradients, row by row: x is [rows, n].
#include "base/ivdep.h"
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

STOKER_INLINE float row_max(const float* x, int64_t n) {
  constexpr int kLanes = 32;
  float lanes[kLanes], largest = -__builtin_inff();
  for (int l = 0; l < kLanes; ++l) lanes[l] = largest;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  for (int l = 0; l < kLanes; ++l) largest = lanes[l] > largest ? lanes[l] : largest;
  return largest;
}

STOKER_INLINE float exp_sum(const float* x, int64_t n, float largest) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += exp(x[i] - largest);
  return sum;
}

STOKER_INLINE float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void softmax(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    float largest = row_max(x, n), sum = 0;
    STOKER_IVDEP
    for (int64_t i = 0; i < n; ++i) sum += y[i] = exp(x[i] - largest);
    float scale = 1 / sum;
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
}

void log_softmax(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    float largest = row_max(x, n);
    float log_sum = log(exp_sum(x, n, largest));
    STOKER_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - largest) - log_sum;
  }
}

void softmax_grad(const float* y, const float* dy, float* dx, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, y += n, dy += n, dx += n) {
    float product = dot(y, dy, n);
    STOKER_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - product);
  }
}

void log_softmax_grad(const float* y, const float* dy, float* dx, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, y += n, dy += n, dx += n) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += dy[i];
    STOKER_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = fma(-exp(y[i]), sum, dy[i]);
  }
}

void sparse_cross_entropy(const float* x, const int64_t* labels, float* loss, int64_t rows,
                          int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n) {
    float largest = row_max(x, n);
    loss[row] = log(exp_sum(x, n, largest)) + (largest - x[labels[row]]);
  }
}

void sparse_cross_entropy_grad(const float* x, const int64_t* labels, const float* dloss, float* dx,
                               int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, dx += n) {
    float largest = row_max(x, n), sum = 0;
    STOKER_IVDEP
    for (int64_t i = 0; i < n; ++i) sum += dx[i] = exp(x[i] - largest);
    float scale = dloss[row] / sum;
    for (int64_t i = 0; i < n; ++i) dx[i] *= scale;
    dx[labels[row]] -= dloss[row];
  }
}

void cross_entropy(const float* x, const float* targets, float* loss, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, targets += n) {
    float largest = row_max(x, n), sum = 0;
    float normalizer = largest + log(exp_sum(x, n, largest));
    for (int64_t i = 0; i < n; ++i) sum += targets[i] * (normalizer - x[i]);
    loss[row] = sum;
  }
}

// Targets need not add up to one.
void cross_entropy_grad(const float* x, const float* targets, const float* dloss, float* dx,
                        int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, targets += n, dx += n) {
    float largest = row_max(x, n), total = 0;
    for (int64_t i = 0; i < n; ++i) total += targets[i];
    float scale = total / exp_sum(x, n, largest), d = dloss[row];
    STOKER_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = d * fma(scale, exp(x[i] - largest), -targets[i]);
  }
}

}  // namespace

void add_softmax(KernelTable& table) {
  table.softmax = softmax;
  table.log_softmax = log_softmax;
  table.softmax_grad = softmax_grad;
  table.log_softmax_grad = log_softmax_grad;
  table.sparse_cross_entropy = sparse_cross_entropy;
  table.sparse_cross_entropy_grad = sparse_cross_entropy_grad;
  table.cross_entropy = cross_entropy;
  table.cross_entropy_grad = cross_entropy_grad;
}

}  // namespace stoker::cpu::STOKER_ISA
