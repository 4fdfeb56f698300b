#include "engine/cuda/kernels/decoding.h"

#include <algorithm>

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int64_t kMostBlocks = 1024;

// Where a key or value of a head lies: in the cache before `begin`, then in the chunk.
template <class T>
struct HeadRows {
  const T *cached, *own;
  int64_t depth, stride, begin;
  __device__ const T* operator[](int64_t place) const {
    return place < begin ? cached + place * depth : own + (place - begin) * stride;
  }
};

template <class T>
__device__ HeadRows<T> head_rows(const CachedAttentionCall& c, const void* own, const void* cached,
                                 int64_t row, int64_t group, int64_t depth, int64_t begin) {
  return {static_cast<const T*>(cached) + (row * c.groups + group) * c.capacity * depth,
          static_cast<const T*>(own) + (row * c.chunk * c.groups + group) * depth, depth,
          c.groups * depth, begin};
}

template <class T>
__device__ float masked(const CachedAttentionCall& c, float score, int64_t at) {
  if (c.mask == nullptr) return score;
  if (c.bias) return score + to_float(static_cast<const T*>(c.mask)[at]);
  return static_cast<const bool*>(c.mask)[at] ? score : -INFINITY;
}

// A warp per key: the scores of all keys that the query sees. Returns the largest.
template <class T>
__device__ float score_keys(const CachedAttentionCall& c, const T* q, const HeadRows<T>& keys,
                            int64_t mask_row, int64_t count, float* scores) {
  int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  float most = -INFINITY;
  for (int64_t place = warp; place < count; place += kWarps) {
    const T* key = keys[place];
    float sum = 0;
    for (int64_t d = lane; d < c.depth; d += 32) sum += to_float(q[d]) * to_float(key[d]);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0U, sum, offset);
    float score = masked<T>(c, sum * c.scale, mask_row + place);
    if (lane == 0) scores[place] = score;
    most = max_or_nan(most, score);
  }
  return most;
}

// Columns of the values side by side, keys in strides: the sums of the strides are added in order.
template <class T>
__device__ void mix_values(const CachedAttentionCall& c, const HeadRows<T>& values,
                           const float* weights, int64_t count, float factor, T* out) {
  __shared__ float parts[kThreads];
  for (int64_t first = 0; first < c.value_depth; first += kThreads) {
    int width = int(min(int64_t(kThreads), c.value_depth - first)), lines = kThreads / width;
    int line = int(threadIdx.x) / width, column = int(threadIdx.x) % width;
    float sum = 0;
    for (int64_t place = line; place < count && line < lines; place += lines)
      sum += weights[place] * to_float(values[place][first + column]);
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (int(threadIdx.x) < width) {
      for (int other = 1; other < lines; ++other) sum += parts[other * width + column];
      out[first + column] = from_float<T>(sum * factor);
    }
    __syncthreads();
  }
}

// A block per query of a head.
template <class T>
__global__ void __launch_bounds__(kThreads) attend(const __grid_constant__ CachedAttentionCall c) {
  int64_t items = c.batch * c.queries * c.heads;
  int64_t begin = min(max(int64_t(c.positions[0]), int64_t(0)), c.capacity);
  float* scores = c.scores + int64_t(blockIdx.x) * c.capacity;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    int64_t head = item % c.heads, query = item / c.heads % c.queries,
            row = item / c.heads / c.queries, group = head / (c.heads / c.groups);
    int64_t count = min(begin + c.chunk - c.queries + query + 1, c.capacity);
    auto keys = head_rows<T>(c, c.k, c.cached_k, row, group, c.depth, begin);
    auto values = head_rows<T>(c, c.v, c.cached_v, row, group, c.value_depth, begin);
    int64_t mask_row =
        row * c.mask_strides[0] + head * c.mask_strides[1] + query * c.mask_strides[2];
    float most =
        score_keys(c, static_cast<const T*>(c.q) + item * c.depth, keys, mask_row, count, scores);
    most = block_reduce(most, -INFINITY, [](float a, float b) { return max_or_nan(a, b); });
    bool blind = most == -INFINITY;  // sees nothing: zeros
    float sum = 0;
    for (int64_t place = threadIdx.x; place < count; place += kThreads) {
      float weight = blind ? 0 : expf(scores[place] - most);
      scores[place] = weight;
      sum += weight;
    }
    sum = block_reduce(sum, 0.0F, Plus());  // also: all weights are written
    mix_values(c, values, scores, count, blind ? 0 : 1 / sum,
               static_cast<T*>(c.out) + item * c.value_depth);
  }
}

template <class E>
__global__ void __launch_bounds__(kThreads) append(const __grid_constant__ CacheAppendCall c) {
  int64_t width = c.width / int64_t(sizeof(E)), count = c.batch * c.chunk * c.groups * width;
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * kThreads) {
    int64_t column = i % width, group = i / width % c.groups, step = i / width / c.groups % c.chunk,
            row = i / width / c.groups / c.chunk, place = c.positions[0] + step;
    if (place >= 0 && place < c.capacity)
      static_cast<E*>(c.cache)[((row * c.groups + group) * c.capacity + place) * width + column] =
          static_cast<const E*>(c.rows)[i];
  }
}

}  // namespace

int64_t cached_attention_blocks(int64_t items) { return std::min(items, kMostBlocks); }

void run_cached_attention(const CachedAttentionCall& call, cudaStream_t stream) {
  int64_t items = call.batch * call.queries * call.heads;
  if (items == 0) return;
  visit_float(call.dtype, [&]<class T>(T) {
    attend<T><<<unsigned(cached_attention_blocks(items)), kThreads, 0, stream>>>(call);
  });
  check_launch("cached_attention");
}

void run_cache_append(const CacheAppendCall& call, cudaStream_t stream) {
  int64_t bytes = call.batch * call.chunk * call.groups * call.width;
  if (bytes == 0) return;
  auto launch = [&]<class E>(E) {
    int64_t blocks = (bytes / int64_t(sizeof(E)) + kThreads - 1) / kThreads;
    append<E><<<unsigned(std::min(blocks, kMostBlocks)), kThreads, 0, stream>>>(call);
  };
  if (call.width % 16 == 0)
    launch(uint4{});
  else if (call.width % 4 == 0)
    launch(uint32_t{});
  else
    launch(uint8_t{});
  check_launch("cache_append");
}

}  // namespace stoker::cuda
