// Launches of attention's kernels on Hopper.
#pragma once

#include <functional>

#include "engine/cuda/kernels/attention_hopper_block.cuh"

namespace stoker::cuda {

// Of the sizes that were tried on an H200, the fastest.
template <class T, int kDims>
using ForwardTiles =
    std::conditional_t<kDims == 64, HopperTiles<T, 64, 3, 128, 4>, HopperTiles<T, 128, 2, 128, 3>>;
template <class T, int kDims>
using QueryGradTiles =
    std::conditional_t<kDims == 64, HopperTiles<T, 64, 3, 64, 4>, HopperTiles<T, 128, 2, 64, 4>>;
template <class T, int kDims>
using KeyGradTiles =
    std::conditional_t<kDims == 64, HopperTiles<T, 64, 2, 128, 4>, HopperTiles<T, 128, 2, 64, 4>>;

// What a kernel needs beside the call: how the copy engine finds tensors, and the bits of the mask, made on `stream`.
// by_keys: rows are keys.
HopperCall prepare_hopper(const AttentionCall& call, bool by_keys, void* bits, cudaStream_t stream);

// function(part, bits of dropout, memory for the rest) for parts of the batch. The bits are made on `stream` for each part, and
// stay within kMostKept bytes.
constexpr size_t kMostKept = size_t(1) << 28;
void each_part(const AttentionCall& call, bool gradient, cudaStream_t stream,
               const std::function<void(const AttentionCall&, const KeptBits&, void*)>& function);

// `row_tiles`: row tiles that a block keeps; `stats`: bytes of a stage beside its two tiles.
template <class Tiles, class Kernel>
void launch_hopper(Kernel kernel, const HopperCall& h, int64_t rows, int64_t heads, int row_tiles,
                   int stats, cudaStream_t stream) {
  int bytes =
      1024 + row_tiles * Tiles::kRowTile + Tiles::kStages * (2 * Tiles::kColumnTile + stats);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "attention's shared memory");
  int64_t blocks = int64_t(blocks_for(rows, Tiles::kRows)) * heads * h.c.batch;
  if (blocks > std::numeric_limits<int32_t>::max())
    fail("attention", "more blocks than a grid has");
  kernel<<<unsigned(blocks), Tiles::kThreads, unsigned(bytes), stream>>>(h);
  check_launch("attention");
}

}  // namespace stoker::cuda
