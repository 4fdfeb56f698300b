#include "engine/cuda/kernels/lookup.h"

#include <cub/device/device_radix_sort.cuh>

#include "base/philox.h"
#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

__device__ inline int64_t integer_at(DType dtype, const void* data, int64_t at) {
  return dtype == DType::int32 ? static_cast<const int32_t*>(data)[at]
                               : static_cast<const int64_t*>(data)[at];
}

__device__ inline int64_t row_at(const GatherCall& c, int64_t at) {
  int64_t row = integer_at(c.index_dtype, c.indices, at);
  return row < 0 ? 0 : row >= c.rows ? c.rows - 1 : row;
}

template <class E>
__global__ void __launch_bounds__(kBlock) gather(const __grid_constant__ GatherCall c) {
  for (int64_t item = int64_t(blockIdx.x) * kBlock + threadIdx.x; item < c.count * c.width;
       item += int64_t(gridDim.x) * kBlock)
    static_cast<E*>(c.out)[item] =
        static_cast<const E*>(c.table)[row_at(c, item / c.width) * c.width + item % c.width];
}

__global__ void list_rows(const __grid_constant__ GatherCall c, uint32_t* keys, uint32_t* places) {
  int64_t item = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (item >= c.count) return;
  keys[item] = uint32_t(row_at(c, item));
  places[item] = uint32_t(item);
}

// A warp for every sorted place; the first of a row sums it, the others leave.
template <class T>
__global__ void __launch_bounds__(kBlock)
    sum_rows(const __grid_constant__ GatherCall c, const uint32_t* keys, const uint32_t* places) {
  int64_t first = int64_t(blockIdx.x) * (kBlock / 32) + threadIdx.x / 32;
  if (first >= c.count || (first > 0 && keys[first - 1] == keys[first])) return;
  const T* dy = static_cast<const T*>(c.table);
  for (int64_t column = threadIdx.x % 32; column < c.width; column += 32) {
    float total = 0;
    for (int64_t at = first; at < c.count && keys[at] == keys[first]; ++at)
      total += to_float(dy[int64_t(places[at]) * c.width + column]);
    static_cast<T*>(c.out)[int64_t(keys[first]) * c.width + column] = from_float<T>(total);
  }
}

template <class T>
__global__ void one_hot(DType index_dtype, const void* indices, int64_t count, int64_t depth,
                        T* out) {
  for (int64_t item = int64_t(blockIdx.x) * kBlock + threadIdx.x; item < count * depth;
       item += int64_t(gridDim.x) * kBlock)
    out[item] =
        from_float<T>(integer_at(index_dtype, indices, item / depth) == item % depth ? 1 : 0);
}

// A warp a row.
template <class T>
__global__ void in_top_k(const T* predictions, DType target_dtype, const void* targets,
                         int64_t rows, int64_t classes, int64_t k, bool* out) {
  int64_t row = int64_t(blockIdx.x) * (kBlock / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  int64_t target = integer_at(target_dtype, targets, row);
  bool known = target >= 0 && target < classes;
  float mine = known ? to_float(predictions[row * classes + target]) : 0;
  int better = 0;
  for (int64_t c = threadIdx.x % 32; c < classes; c += 32)
    better += !(to_float(predictions[row * classes + c]) <= mine);  // NaN is the largest
  for (int offset = 16; offset > 0; offset /= 2) better += __shfl_xor_sync(~0U, better, offset);
  if (threadIdx.x % 32 == 0) out[row] = known && better < k;
}

// A thread draws one block of four numbers, as the other engines do.
template <class T>
__global__ void __launch_bounds__(kBlock) dropout(const __grid_constant__ DropoutCall c) {
  constexpr uint64_t kStreamsPerStep = 65536;
  auto seed = uint64_t(c.state[0]);
  uint64_t stream = uint64_t(c.state[1]) * kStreamsPerStep + uint64_t(c.stream_number);
  auto keep = float(1 - c.rate);
  const T* x = static_cast<const T*>(c.x);
  for (int64_t block = int64_t(blockIdx.x) * kBlock + threadIdx.x; block * 4 < c.elements;
       block += int64_t(gridDim.x) * kBlock) {
    PhiloxBlock bits = random_block(seed, stream, uint64_t(block));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int64_t at = block * 4 + i;
      if (at >= c.elements) break;
      bool kept = double(float(bits[i] >> 8) * 0x1p-24F) >= c.rate;
      static_cast<T*>(c.y)[at] = from_float<T>(kept ? to_float(x[at]) / keep : 0.0F);
    }
  }
}

size_t sort_bytes(int64_t count) {
  size_t bytes = 0;
  uint32_t* none = nullptr;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, none, none, none, none, count),
        "the size of a sort");
  return bytes;
}

}  // namespace

void run_gather(const GatherCall& call, cudaStream_t stream) {
  if (call.count * call.width == 0) return;
  unsigned grid = blocks_for(call.count * call.width, kBlock, 132 * 32);
  if (call.element == 2)
    gather<uint16_t><<<grid, kBlock, 0, stream>>>(call);
  else if (call.element == 4)
    gather<uint32_t><<<grid, kBlock, 0, stream>>>(call);
  else
    gather<uint64_t><<<grid, kBlock, 0, stream>>>(call);
  check_launch("gather");
}

size_t gather_grad_scratch(int64_t count) {
  size_t lists = size_t(count) * 4 * sizeof(uint32_t);
  return (lists + 255) / 256 * 256 + sort_bytes(count);
}

void run_gather_grad(const GatherCall& call, cudaStream_t stream) {
  visit_float(call.dtype, [&]<class T>(T) {
    check(cudaMemsetAsync(call.out, 0, size_t(call.rows * call.width) * sizeof(T), stream),
          "zeroing a gradient");
  });
  if (call.count * call.width == 0) return;
  auto* keys = static_cast<uint32_t*>(call.scratch);
  uint32_t *places = keys + call.count, *sorted = places + call.count, *order = sorted + call.count;
  size_t lists = (size_t(call.count) * 4 * sizeof(uint32_t) + 255) / 256 * 256;
  size_t bytes = call.scratch_bytes - lists;
  list_rows<<<blocks_for(call.count, kBlock), kBlock, 0, stream>>>(call, keys, places);
  check_launch("list_rows");
  int bits = 1;
  while (bits < 32 && (int64_t(1) << bits) < call.rows) ++bits;
  check(cub::DeviceRadixSort::SortPairs(static_cast<char*>(call.scratch) + lists, bytes, keys,
                                        sorted, places, order, call.count, 0, bits, stream),
        "sorting indices");
  visit_float(call.dtype, [&]<class T>(T) {
    sum_rows<T><<<blocks_for(call.count, kBlock / 32), kBlock, 0, stream>>>(call, sorted, order);
  });
  check_launch("sum_rows");
}

void run_one_hot(DType index_dtype, const void* indices, int64_t count, int64_t depth, DType dtype,
                 void* out, cudaStream_t stream) {
  if (count * depth == 0) return;
  visit_float(dtype, [&]<class T>(T) {
    one_hot<<<blocks_for(count * depth, kBlock, 132 * 32), kBlock, 0, stream>>>(
        index_dtype, indices, count, depth, static_cast<T*>(out));
  });
  check_launch("one_hot");
}

void run_in_top_k(DType dtype, const void* predictions, DType target_dtype, const void* targets,
                  int64_t rows, int64_t classes, int64_t k, bool* out, cudaStream_t stream) {
  if (rows == 0) return;
  visit_float(dtype, [&]<class T>(T) {
    in_top_k<<<blocks_for(rows, kBlock / 32), kBlock, 0, stream>>>(
        static_cast<const T*>(predictions), target_dtype, targets, rows, classes, k, out);
  });
  check_launch("in_top_k");
}

void run_dropout(const DropoutCall& call, cudaStream_t stream) {
  if (call.elements == 0) return;
  visit_float(call.dtype, [&]<class T>(T) {
    dropout<T><<<blocks_for(call.elements, kBlock * 4, 132 * 16), kBlock, 0, stream>>>(call);
  });
  check_launch("dropout");
}

}  // namespace stoker::cuda
