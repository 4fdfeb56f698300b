// A whole LSTM or GRU in one launch: a cluster of blocks holds the recurrent kernel in its registers
// for all steps, takes some rows of the batch through time, and hands states from block to block
// through shared memory. Clusters do not wait for each other, and the device runs the blocks of a
// cluster at the same time by definition: no two launches can block each other.
// float16 and bfloat16, up to kMostUnits units, compute capability 9.0 or later.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// Sequences are [B, T, …] and masks [B, T]; a step's place in time is found by `reverse`. States are
// [B, units]. Gates are those of the graph: lstm i, f, candidate, o; gru update, reset, candidate.
struct RecurrentCluster {
  static constexpr int kMostUnits = 512, kUnits = 32;  // kUnits: of a block
  enum Cell : int { kLstm, kGru };

  DType dtype = DType::bfloat16;
  int cell = kLstm;
  int batch = 0, length = 0, units = 0;
  bool reverse = false, zero_masked = false;
  int blocks = 1;  // of a cluster: a power of two
  int tiles = 1;   // of eight rows of the batch, per cluster: 1 or 2

  const void* recurrent = nullptr;  // [units, gates · units]
  const void* bias = nullptr;       // of a gru: [gates · units], added to h · R
  const bool* mask = nullptr;       // may be null: every step counts
  void* gates = nullptr;            // [B, T, gates, units]: x · W + bias; activations if kept
  // What the gradient needs; null: nothing is kept, and gates stay as they are.
  float* inner = nullptr;  // [B, T, units]: c; of a gru h · R + bias of the candidate
  void* before = nullptr;  // [B, T, units]: h before the step

  // Forwards.
  const void *h = nullptr, *c = nullptr;  // backwards only c
  void* y = nullptr;
  void *last_h = nullptr, *last_c = nullptr;  // may be null
  // Backwards.
  const void* dy = nullptr;
  const void *dlast_h = nullptr, *dlast_c = nullptr;
  void *dgates = nullptr, *drecurrent = nullptr;  // one buffer for an lstm
  void *dh = nullptr, *dc = nullptr;
  float* dbias_parts = nullptr;  // [bias_parts(), 4, units]
  void* dbias = nullptr;         // [gates · units], of a gru [2, gates · units]

  constexpr int clusters() const { return (batch + 8 * tiles - 1) / (8 * tiles); }
  constexpr int bias_parts() const { return 2 * clusters(); }
};

// Sets blocks and tiles for this device. False where it cannot run.
bool plan_recurrent_cluster(RecurrentCluster& call);
void run_recurrent_cluster(const RecurrentCluster& call, cudaStream_t stream);
void run_recurrent_cluster_back(const RecurrentCluster& call, cudaStream_t stream);

}  // namespace stoker::cuda
