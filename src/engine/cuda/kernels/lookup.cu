#include "engine/cuda/kernels/lookup.h"

#include <cub/block/block_radix_sort.cuh>
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
  const bool blocks = c.group > 0;
  const int64_t place = blocks && c.shared ? at % c.group : at, rows = blocks ? c.extent : c.rows;
  int64_t row = integer_at(c.index_dtype, c.indices, place);
  row = row < 0 ? 0 : row >= rows ? rows - 1 : row;
  return blocks ? at / c.group * c.extent + row : row;
}

// `width` counts elements of E here. A block copies 256 of them from `kRowsInFlight` rows at once.
constexpr int kRowsInFlight = 4;

template <class E>
__global__ void __launch_bounds__(kBlock)
    gather(const __grid_constant__ GatherCall c, int threads_of_row) {
  const int lane = int(threadIdx.x) % threads_of_row, part = int(threadIdx.x) / threads_of_row;
  const int parts = kBlock / threads_of_row;
  const int64_t first = int64_t(blockIdx.x) * parts * kRowsInFlight + part;
  for (int64_t column = lane; column < c.width; column += threads_of_row) {
    E loaded[kRowsInFlight];
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u)
      if (int64_t at = first + u * parts; at < c.count)
        loaded[u] = static_cast<const E*>(c.table)[row_at(c, at) * c.width + column];
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u)
      if (int64_t at = first + u * parts; at < c.count)
        static_cast<E*>(c.out)[at * c.width + column] = loaded[u];
  }
}

__global__ void list_rows(const __grid_constant__ GatherCall c, uint32_t* keys, uint32_t* places) {
  int64_t item = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (item >= c.count) return;
  keys[item] = uint32_t(row_at(c, item));
  places[item] = uint32_t(item);
}

// --- sorted places ---

int bits_for(int64_t count) {
  int bits = 1;
  while (bits < 32 && (int64_t(1) << bits) < count) ++bits;
  return bits;
}

// Few places are sorted by one block in its own memory: CUB's sort for all sizes takes five launches. A number holds a
// row and, below it, the place: sorting by the row keeps places of one row in their order.
constexpr int kSortThreads = 1024;

template <int kItems>
__global__ void __launch_bounds__(kSortThreads)
    sort_in_block(const __grid_constant__ GatherCall c, int place_bits, int row_bits,
                  uint32_t* sorted, uint32_t* order) {
  using Sort = cub::BlockRadixSort<uint32_t, kSortThreads, kItems>;
  extern __shared__ __align__(16) char memory[];
  uint32_t numbers[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const uint32_t place = threadIdx.x * kItems + i;
    numbers[i] = place < c.count ? uint32_t(row_at(c, place)) << place_bits | place : ~0U;
  }
  Sort(*reinterpret_cast<typename Sort::TempStorage*>(memory))
      .SortBlockedToStriped(numbers, place_bits, place_bits + row_bits);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int64_t at = int64_t(i) * kSortThreads + threadIdx.x;
    if (at >= c.count) continue;
    sorted[at] = numbers[i] >> place_bits;
    order[at] = numbers[i] & ((1U << place_bits) - 1);
  }
}

// Whether they were few enough.
template <int kItems>
bool sort_few(const GatherCall& call, uint32_t* sorted, uint32_t* order, cudaStream_t stream) {
  using Sort = cub::BlockRadixSort<uint32_t, kSortThreads, kItems>;
  const int place_bits = bits_for(kSortThreads * kItems), row_bits = bits_for(call.rows);
  if (call.count > kSortThreads * kItems || place_bits + row_bits > 32) return false;
  constexpr int kBytes = int(sizeof(typename Sort::TempStorage));
  auto kernel = sort_in_block<kItems>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory for a sort");
  kernel<<<1, kSortThreads, kBytes, stream>>>(call, place_bits, row_bits, sorted, order);
  check_launch("sorting few indices");
  return true;
}

// --- the table's gradient ---
//
// Sorted places are summed in chunks of 32, one warp each, so that a row that comes up everywhere
// (padding) is not left to a single warp. A run of places that ends in its own chunk is written at
// once. Of one that goes on, chunks leave their part: at `head` where it began before, at `tail`
// where it begins. A second kernel adds those up in their order.
constexpr int kChunkPlaces = 32;

struct ChunkSums {
  const uint32_t *keys, *places;  // sorted
  float *heads, *tails;           // [chunks, width]
};

template <class T, int N>
__global__ void __launch_bounds__(kBlock)
    sum_chunks(const __grid_constant__ GatherCall c, const __grid_constant__ ChunkSums s) {
  constexpr int kInFlight = 4;
  const int lane = int(threadIdx.x) % 32;
  const int64_t chunk = int64_t(blockIdx.x) * (kBlock / 32) + threadIdx.x / 32;
  const int64_t first = chunk * kChunkPlaces, column = (int64_t(blockIdx.y) * 32 + lane) * N;
  if (first >= c.count) return;
  const int count = int(min(int64_t(kChunkPlaces), c.count - first));
  const int mine = min(lane, count - 1);
  const uint32_t key = s.keys[first + mine], place = s.places[first + mine];
  const bool comes_in = first > 0 && s.keys[first - 1] == __shfl_sync(~0U, key, 0);
  const bool goes_on =
      first + count < c.count && s.keys[first + count] == __shfl_sync(~0U, key, count - 1);
  const bool inside = column < c.width;
  const T* dy = static_cast<const T*>(c.table);
  float sum[N] = {};
  int began = 0;  // the first place of the run at hand
  for (int at = 0; at < count; at += kInFlight) {
    float loaded[kInFlight][N] = {};
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      uint32_t from = __shfl_sync(~0U, place, min(at + u, count - 1));
      if (inside && at + u < count)
        load_floats<N>(dy + int64_t(from) * c.width + column, loaded[u]);
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      if (at + u >= count) break;
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += loaded[u][i];
      const uint32_t own = __shfl_sync(~0U, key, at + u);
      const bool last = at + u == count - 1;
      if (!last && own == __shfl_sync(~0U, key, min(at + u + 1, 31))) continue;
      if (inside) {
        if (began == 0 && comes_in)
          store_floats<N>(sum, s.heads + chunk * c.width + column);
        else if (last && goes_on)
          store_floats<N>(sum, s.tails + chunk * c.width + column);
        else
          store_floats<N>(sum, static_cast<T*>(c.out) + int64_t(own) * c.width + column);
      }
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] = 0;
      began = at + u + 1;
    }
  }
}

// A block for every chunk; it has something to do where a run begins in it and goes on: the tail,
// and the heads of the chunks that follow, dealt out to the warps in turn.
constexpr int kJoinThreads = 512;

template <class T>
__global__ void __launch_bounds__(kJoinThreads)
    join_chunks(const __grid_constant__ GatherCall c, const __grid_constant__ ChunkSums s) {
  constexpr int kWarps = kJoinThreads / 32;
  __shared__ float parts[kWarps][32];
  const int64_t chunk = blockIdx.x, first = chunk * kChunkPlaces, last = first + kChunkPlaces - 1;
  if (last + 1 >= c.count || s.keys[last] != s.keys[last + 1]) return;
  const uint32_t key = s.keys[last];
  if (first > 0 && s.keys[first - 1] == key) return;  // began in an earlier chunk
  int64_t low = last + 1, high = c.count;             // where the run ends
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (s.keys[middle] == key)
      low = middle + 1;
    else
      high = middle;
  }
  const int64_t heads = (low - 1) / kChunkPlaces - chunk;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  for (int64_t column0 = int64_t(blockIdx.y) * 32; column0 < c.width;
       column0 += int64_t(gridDim.y) * 32) {
    const int64_t column = column0 + lane;
    float sum = 0;
    if (column < c.width) {
      if (warp == 0) sum = s.tails[chunk * c.width + column];
#pragma unroll 8
      for (int64_t head = 1 + warp; head <= heads; head += kWarps)
        sum += s.heads[(chunk + head) * c.width + column];
    }
    __syncthreads();
    parts[warp][lane] = sum;
    __syncthreads();
    if (warp != 0 || column >= c.width) continue;
    float total = 0;
    for (int other = 0; other < kWarps; ++other) total += parts[other][lane];
    static_cast<T*>(c.out)[int64_t(key) * c.width + column] = from_float<T>(total);
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
  // bits · 2⁻²⁴ ≥ rate, without a division or a double for each.
  auto least = uint32_t(ceil(c.rate * 0x1p24));
  const T* x = static_cast<const T*>(c.x);
  T* y = static_cast<T*>(c.y);
  for (int64_t block = int64_t(blockIdx.x) * kBlock + threadIdx.x; block * 4 < c.elements;
       block += int64_t(gridDim.x) * kBlock) {
    PhiloxBlock bits = random_block(seed, stream, uint64_t(block));
    auto result = [&](int i, float value) { return (bits[i] >> 8) >= least ? value / keep : 0.0F; };
    if (block * 4 + 4 <= c.elements) {
      float four[4];
      load_floats<4>(x + block * 4, four);
#pragma unroll
      for (int i = 0; i < 4; ++i) four[i] = result(i, four[i]);
      store_floats<4>(four, y + block * 4);
    } else {
      for (int i = 0; block * 4 + i < c.elements; ++i)
        y[block * 4 + i] = from_float<T>(result(i, to_float(x[block * 4 + i])));
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
  GatherCall c = call;
  auto launch = [&]<class E>(E) {
    c.width = call.width * call.element / int64_t(sizeof(E));
    int threads = 1;
    while (threads < kBlock && threads < c.width) threads *= 2;
    gather<E>
        <<<blocks_for(c.count, int64_t(kBlock) / threads * kRowsInFlight), kBlock, 0, stream>>>(
            c, threads);
  };
  if (call.width * call.element % 16 == 0)
    launch(uint4());
  else if (call.element == 2)
    launch(uint16_t());
  else if (call.element == 4)
    launch(uint32_t());
  else if (call.element == 1)
    launch(uint8_t());
  else
    launch(uint64_t());
  check_launch("gather");
}

namespace {

int64_t chunks_of(int64_t count) { return (count + kChunkPlaces - 1) / kChunkPlaces; }
size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

size_t gather_grad_scratch(int64_t count, int64_t width) {
  return aligned(size_t(count) * 4 * sizeof(uint32_t)) +
         aligned(size_t(chunks_of(count)) * size_t(width) * 2 * sizeof(float)) + sort_bytes(count);
}

void run_gather_grad(const GatherCall& call, cudaStream_t stream) {
  visit_float(call.dtype, [&]<class T>(T) {
    check(cudaMemsetAsync(call.out, 0, size_t(call.rows * call.width) * sizeof(T), stream),
          "zeroing a gradient");
  });
  if (call.count * call.width == 0) return;
  auto* keys = static_cast<uint32_t*>(call.scratch);
  uint32_t *places = keys + call.count, *sorted = places + call.count, *order = sorted + call.count;
  size_t lists = aligned(size_t(call.count) * 4 * sizeof(uint32_t));
  const int64_t chunks = chunks_of(call.count);
  auto* heads = reinterpret_cast<float*>(static_cast<char*>(call.scratch) + lists);
  const ChunkSums sums{sorted, order, heads, heads + chunks * call.width};
  lists += aligned(size_t(chunks) * size_t(call.width) * 2 * sizeof(float));
  size_t bytes = call.scratch_bytes - lists;
  if (!sort_few<4>(call, sorted, order, stream) && !sort_few<16>(call, sorted, order, stream)) {
    list_rows<<<blocks_for(call.count, kBlock), kBlock, 0, stream>>>(call, keys, places);
    check_launch("list_rows");
    check(cub::DeviceRadixSort::SortPairs(static_cast<char*>(call.scratch) + lists, bytes, keys,
                                          sorted, places, order, call.count, 0, bits_for(call.rows),
                                          stream),
          "sorting indices");
  }
  visit_float(call.dtype, [&]<class T>(T) {
    auto sum = [&]<int N>(std::integral_constant<int, N>) {
      dim3 grid(blocks_for(chunks, kBlock / 32), blocks_for(call.width, 32 * N));
      sum_chunks<T, N><<<grid, kBlock, 0, stream>>>(call, sums);
    };
    if (call.width % 4 == 0)
      sum(std::integral_constant<int, 4>());
    else
      sum(std::integral_constant<int, 1>());
    dim3 joins(unsigned(chunks - 1), blocks_for(call.width, 32, 64));
    if (chunks > 1) join_chunks<T><<<joins, kJoinThreads, 0, stream>>>(call, sums);
  });
  check_launch("summing rows of a gradient");
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
