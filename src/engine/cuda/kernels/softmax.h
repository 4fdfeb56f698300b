// Softmax and the losses made of it, one row of `classes` numbers at a time.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

enum class SoftmaxOp : uint8_t {
  softmax,
  softmax_grad,  // x: y, second: dy
  log_softmax,
  log_softmax_grad,  // x: y, second: dy
  sparse_loss,       // second: labels → out: [rows]
  sparse_loss_grad,  // second: labels, third: dloss
  loss,              // second: targets → out: [rows]
  loss_grad,         // second: targets, third: dloss
};

struct SoftmaxCall {
  SoftmaxOp op = SoftmaxOp::softmax;
  DType dtype = DType::float32;
  DType second_dtype = DType::float32;  // labels: int32 or int64
  int64_t rows = 0, classes = 0;
  const void *x = nullptr, *second = nullptr;
  const float* third = nullptr;
  void* out = nullptr;
  bool holds_second = false;  // set by run_softmax
  // Of a row: its largest number, and log Σ exp(x − that). run_long_loss only.
  float2* normalizers = nullptr;
};

// `out` of a gradient may be x.
void run_softmax(const SoftmaxCall& call, cudaStream_t stream);

// sparse_loss, which writes the normalizers, and sparse_loss_grad, which reads them, for many
// classes: both read x once.
bool has_long_rows(DType dtype, int64_t classes);
void run_long_loss(const SoftmaxCall& call, cudaStream_t stream);

}  // namespace stoker::cuda
