#include "engine/cuda/kernels/attention_seen.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

struct SeenCall {
  const uint8_t* mask;
  int64_t batch, head, row, column;  // strides of the mask
  SeenBits to;
  int heads, rows;  // that are there, and not repeated
};

// A block has 64 × 64 pairs, a warp eight rows of them. Lanes read along the axis that lies in memory.
__global__ void __launch_bounds__(kBlock) pack_mask(const __grid_constant__ SeenCall c) {
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int64_t batch = int64_t(blockIdx.x) / c.heads, head = int64_t(blockIdx.x) % c.heads;
  const uint8_t* mask = c.mask + batch * c.batch + head * c.head;
  uint2* bits = c.to.bits + batch * c.to.batch + head * c.to.head;
  bool any = false, all = true;
  for (int i = warp; i < 64; i += kBlock / 32) {
    int row = int(blockIdx.y) * 64 + i;
    if (row >= c.rows) break;
    unsigned words[2];
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      int column = int(blockIdx.z) * 64 + w * 32 + lane;
      bool inside = column < c.to.columns;
      bool seen = inside && mask[row * c.row + column * c.column] != 0;
      words[w] = __ballot_sync(~0U, seen);
      any |= words[w] != 0;
      all &= __all_sync(~0U, seen || !inside) != 0;
    }
    if (lane == 0)
      bits[row * c.to.row + int64_t(blockIdx.z) * c.to.column] = make_uint2(words[0], words[1]);
  }
  any = __syncthreads_or(any) != 0;
  all = __syncthreads_and(all) != 0;
  if (threadIdx.x == 0)
    c.to.summary[batch * c.to.summary_batch + head * c.to.summary_head +
                 int64_t(blockIdx.y) * c.to.summary_row + int64_t(blockIdx.z) * c.to.column] =
        all   ? kSeenAll
        : any ? kSeenSome
              : kSeenNone;
}

// How much of an axis of the mask is there.
int64_t there(int64_t extent, int64_t stride) { return stride == 0 ? 1 : extent; }
int64_t in_groups(int64_t extent) { return (extent + 63) / 64; }

}  // namespace

SeenBits seen_bits(const AttentionCall& call, bool by_keys, void* scratch) {
  SeenBits seen;
  if (!call.masked || call.bias) return seen;
  const int64_t* strides = call.mask_strides;
  int64_t row_stride = strides[by_keys ? 3 : 2], column_stride = strides[by_keys ? 2 : 3];
  seen.rows = int(by_keys ? call.keys : call.queries);
  seen.columns = int(by_keys ? call.queries : call.keys);
  int64_t rows = there(seen.rows, row_stride);
  int64_t groups = column_stride == 0 ? 1 : in_groups(seen.columns);
  int64_t heads = there(call.heads, strides[1]), batch = there(call.batch, strides[0]);
  seen.column = column_stride == 0 ? 0 : 1;
  seen.row = row_stride == 0 ? 0 : groups;
  seen.summary_row = seen.row;
  seen.head = strides[1] == 0 ? 0 : rows * groups;
  seen.batch = strides[0] == 0 ? 0 : heads * rows * groups;
  seen.summary_head = strides[1] == 0 ? 0 : in_groups(rows) * groups;
  seen.summary_batch = strides[0] == 0 ? 0 : heads * in_groups(rows) * groups;
  size_t words = size_t(batch * heads * rows * groups);
  size_t summaries = size_t(batch * heads * in_groups(rows) * groups);
  seen.bits = static_cast<uint2*>(scratch);
  seen.summary = static_cast<uint8_t*>(scratch) + words * sizeof(uint2);
  seen.bytes = (words * sizeof(uint2) + summaries + 255) / 256 * 256;
  return seen;
}

void run_seen_bits(const AttentionCall& call, bool by_keys, const SeenBits& to,
                   cudaStream_t stream) {
  if (to.bits == nullptr) return;
  const int64_t* strides = call.mask_strides;
  SeenCall seen{static_cast<const uint8_t*>(call.mask),
                strides[0],
                strides[1],
                strides[by_keys ? 3 : 2],
                strides[by_keys ? 2 : 3],
                to,
                int(there(call.heads, strides[1])),
                int(there(to.rows, to.row))};
  dim3 grid(unsigned(there(call.batch, strides[0]) * seen.heads), unsigned(in_groups(seen.rows)),
            unsigned(to.column == 0 ? 1 : in_groups(to.columns)));
  pack_mask<<<grid, kBlock, 0, stream>>>(seen);
  check_launch("a mask's bits");
}

}  // namespace stoker::cuda
