// Recurrent layers: weights in cuDNN's order, and the steps of the loop that runs what cuDNN cannot.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// kernel [features, gates · units], recurrent [units, gates · units], bias [1 or 2, gates · units] ↔
// a matrix [units, extent] and a bias [units] per gate and side, x and h. Where there is one bias,
// the second side's is zero, and its gradient is left out.
struct RecurrentWeights {
  static constexpr int kMostGates = 4;
  enum class Way : uint8_t { to_cudnn, from_cudnn };
  Way way = Way::to_cudnn;
  DType dtype = DType::float32;
  int gates = 0, features = 0, units = 0, biases = 1;
  void *kernel = nullptr, *recurrent = nullptr, *bias = nullptr;
  void* matrices[2 * kMostGates] = {};  // by side, then by gate of the graph
  void* vectors[2 * kMostGates] = {};   // likewise
};
void run_recurrent_weights(const RecurrentWeights& call, cudaStream_t stream);

// One step for all rows and units. Numbers between the products are float32, states and what goes
// into products are of the layer's dtype. States: [B, units]; gates: [B, gates, units].
struct RecurrentStep {
  DType dtype = DType::float32;
  int cell = 0;  // lstm, gru, rnn_tanh, rnn_relu
  int batch = 0, units = 0;
  bool zero_masked = false;
  float* gates = nullptr;          // x · W; become activations
  const float* product = nullptr;  // h · R; backwards: dgates · Rᵀ [B, units], null: zero
  const void* bias = nullptr;      // [gates, units], of a gru [2, gates, units]
  const void* h_before = nullptr;
  void* h = nullptr;
  const float* c_before = nullptr;
  float* c = nullptr;          // of a gru: h · R + bias of the candidate
  const bool* mask = nullptr;  // at this step; may be null. Rows are mask_stride apart.
  int64_t mask_stride = 0;
  void* y = nullptr;               // at this step; rows are y_stride apart
  const void* y_before = nullptr;  // at the step before; null: none
  int64_t y_stride = 0;
  // Backwards.
  const void* dy = nullptr;
  void *dgates = nullptr, *drecurrent = nullptr;  // one buffer but for a gru
  float *dh = nullptr, *dc = nullptr, *repeated = nullptr;
};
void run_recurrent_step(const RecurrentStep& call, cudaStream_t stream);
void run_recurrent_step_back(const RecurrentStep& call, cudaStream_t stream);

// to[i] = from[i], between float32 and another dtype either way; from null: zeros.
void run_recurrent_convert(DType from_dtype, const void* from, DType to_dtype, void* to,
                           int64_t count, cudaStream_t stream);
// dh [B, units] += product, where there is one.
void run_recurrent_add(float* to, const float* from, int64_t count, cudaStream_t stream);
// The sums of the columns of x [rows, columns].
void run_recurrent_bias(DType dtype, const void* x, void* sums, int64_t rows, int64_t columns,
                        cudaStream_t stream);

}  // namespace stoker::cuda
