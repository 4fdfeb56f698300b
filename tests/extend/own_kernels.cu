// y = sin(x) and its gradient, as a user would write them.
#include "extend/own_kernels.h"

#include <cuda_runtime.h>

namespace stoker::test {

namespace {

__global__ void sine(const float* x, float* y, int64_t count) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = sinf(x[i]);
}

__global__ void sine_gradient(const float* x, const float* dy, float* dx, int64_t count) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) dx[i] = dy[i] * cosf(x[i]);
}

unsigned blocks(int64_t count) { return unsigned((count + 255) / 256); }

}  // namespace

void launch_sine(const float* x, float* y, int64_t count, CUstream_st* stream) {
  sine<<<blocks(count), 256, 0, stream>>>(x, y, count);
}

void launch_sine_gradient(const float* x, const float* dy, float* dx, int64_t count,
                          CUstream_st* stream) {
  sine_gradient<<<blocks(count), 256, 0, stream>>>(x, dy, dx, count);
}

}  // namespace stoker::test
