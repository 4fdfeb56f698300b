// Every return code of CUDA, cuDNN and cuBLASLt goes through check(). The text names the call; the
// builder adds op, layer and shapes.
#pragma once

#include <string>

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>
#include <stoker/error.h>

namespace stoker::cuda {

class CudaError : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void fail(const char* call, const std::string& reason);

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess)
    fail(call, std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status));
}
inline void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) fail(call, cudnnGetErrorString(status));
}
inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(call, cublasLtGetStatusString(status));
}

// After a kernel launch: configuration errors show here, others at the next synchronisation.
inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

}  // namespace stoker::cuda
