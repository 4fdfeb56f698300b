#include "nn/layers/resampled.h"

#include <stoker/ops.h>

namespace stoker {

namespace {

// Along the last axis.
Value product(const Value& x, int64_t size, const Resample& how) {
  int64_t from = x.shape()[-1];
  if (from == size) return x;
  return ops::matmul(x, Value(Tensor::from(resample_matrix(from, size, how), {from, size})));
}

}  // namespace

Value resampled(const Value& x, std::array<int64_t, 2> size, const Resample& how) {
  if (x.shape()[1] == size[0] && x.shape()[2] == size[1]) return x;
  Value columns = product(ops::transpose(x, {0, 3, 1, 2}), size[1], how);     // [B, C, H, W']
  Value rows = product(ops::transpose(columns, {0, 1, 3, 2}), size[0], how);  // [B, C, W', H']
  return ops::transpose(rows, {0, 3, 2, 1});
}

}  // namespace stoker
