// Launchers of own_kernels.cu; without the toolkit there are none to call.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace stoker::test {

void launch_sine(const float* x, float* y, int64_t count, CUstream_st* stream);
void launch_sine_gradient(const float* x, const float* dy, float* dx, int64_t count,
                          CUstream_st* stream);

#ifndef STOKER_TEST_CUDA
inline void launch_sine(const float*, float*, int64_t, CUstream_st*) {}
inline void launch_sine_gradient(const float*, const float*, float*, int64_t, CUstream_st*) {}
#endif

}  // namespace stoker::test
