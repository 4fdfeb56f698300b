#include "engine/cuda/kernels/order.h"

#include <utility>

#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

using Key = unsigned long long;

// --- keys: unsigned numbers in the order of those that they stand for ---

// Of floats, 32 bits; the lowest and the highest key are no number's.
__device__ inline Key key_of(float x) {
  uint32_t bits = __float_as_uint(x == 0 ? 0.0F : x);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}
__device__ inline Key key_of(Half x) { return key_of(to_float(x)); }
__device__ inline Key key_of(Bfloat x) { return key_of(to_float(x)); }
__device__ inline Key key_of(int32_t x) { return uint32_t(x) ^ 0x80000000U; }
__device__ inline Key key_of(int64_t x) { return Key(x) ^ 0x8000000000000000ULL; }

template <class T>
__device__ inline bool is_nan(T x) {
  if constexpr (is_float_type<T>)
    return to_float(x) != to_float(x);
  else
    return false;
}

template <class T>
__device__ inline T number_of(Key key) {
  if constexpr (is_float_type<T>) {
    auto bits = uint32_t(key);
    return from_float<T>(__uint_as_float((bits >> 31) != 0 ? bits & 0x7fffffffU : ~bits));
  } else if constexpr (sizeof(T) == 4) {
    return T(uint32_t(key) ^ 0x80000000U);
  } else {
    return T(key ^ 0x8000000000000000ULL);
  }
}

template <class Function>
void visit_number(DType dtype, Function function) {
  switch (dtype) {
    case DType::int32:
      return function(int32_t{});
    case DType::int64:
      return function(int64_t{});
    default:
      visit_float(dtype, function);
  }
}

// --- argsort: one radix sort for all rows ---

// A key of 32 bits has its row above it. One of 64 bits fills the word; rows are sorted afterwards.
template <class T>
__global__ void make_keys(const T* x, int64_t elements, int64_t columns, bool descending, Key* keys,
                          uint32_t* places) {
  int64_t at = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= elements) return;
  constexpr bool wide = sizeof(T) == 8;
  Key key = is_nan(x[at]) ? 0xffffffffU : key_of(x[at]);
  if (descending) key = wide ? ~key : ~key & 0xffffffffU;
  keys[at] = wide ? key : key | Key(at / columns) << 32;
  places[at] = uint32_t(at);
}

__global__ void row_keys(const uint32_t* places, int64_t elements, int64_t columns, Key* keys) {
  int64_t at = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (at < elements) keys[at] = Key(places[at] / columns);
}

__global__ void first_places(const uint32_t* places, int64_t rows, int64_t columns, int64_t k,
                             int32_t* order) {
  int64_t at = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= rows * k) return;
  int64_t row = at / k;
  order[at] = int32_t(int64_t(places[row * columns + at % k]) - row * columns);
}

size_t pair_sort_bytes(int64_t count) {
  size_t bytes = 0;
  Key* keys = nullptr;
  uint32_t* places = nullptr;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, keys, places, places, count),
        "the size of a sort");
  return bytes;
}

size_t rounded_up(size_t bytes) { return (bytes + 255) / 256 * 256; }

int bits_for(int64_t values) {
  int bits = 1;
  while (bits < 32 && (int64_t(1) << bits) < values) ++bits;
  return bits;
}

// --- cumulate ---

// y = sum + factor · (what came before); those of two stretches, one behind the other.
template <class A>
struct Stretch {
  A factor, sum;
};
struct Follow {
  template <class A>
  __device__ Stretch<A> operator()(const Stretch<A>& a, const Stretch<A>& b) const {
    return {a.factor * b.factor, b.sum + b.factor * a.sum};
  }
};

template <class A, class T>
__device__ inline A wide(T x) {
  if constexpr (is_float_type<T>)
    return to_float(x);
  else
    return A(x);
}

template <class T, class A>
__device__ inline T narrow(A x) {
  if constexpr (is_float_type<T>)
    return from_float<T>(x);
  else
    return T(x);
}

// A block a row, in tiles. The order of the sums depends on the columns alone.
template <class T, class A>
__global__ void __launch_bounds__(kBlock) cumulate(const __grid_constant__ CumulateCall c) {
  using Scan = cub::BlockScan<Stretch<A>, kBlock>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ A carried;
  const T *x = static_cast<const T*>(c.x), *factor = static_cast<const T*>(c.factor);
  for (int64_t row = blockIdx.x; row < c.rows; row += gridDim.x) {
    for (int64_t tile = 0; tile < c.columns; tile += kBlock) {
      const int64_t step = tile + threadIdx.x;
      const int64_t at = row * c.columns + (c.reverse ? c.columns - 1 - step : step);
      Stretch<A> mine{A(1), A(0)};
      if (step < c.columns) {
        mine.sum = wide<A>(x[at]);
        if (factor != nullptr) mine.factor = wide<A>(factor[at]);
      }
      Scan(storage).InclusiveScan(mine, mine, Follow());
      A y = tile == 0 ? mine.sum : mine.sum + mine.factor * carried;
      if (step < c.columns) static_cast<T*>(c.y)[at] = narrow<T>(y);
      __syncthreads();
      if (threadIdx.x == kBlock - 1) carried = y;
      __syncthreads();
    }
  }
}

// --- segment_reduce: atomics on integers, whose order does not matter ---

__device__ inline int64_t segment_of(const SegmentCall& c, int64_t item) {
  return c.id_dtype == DType::int32 ? static_cast<const int32_t*>(c.ids)[item]
                                    : static_cast<const int64_t*>(c.ids)[item];
}

// What stands for NaN: the key that wins.
__host__ __device__ inline Key nan_key(SegmentFn fn) {
  return fn == SegmentFn::max ? 0xffffffffU : 0;
}

template <class T>
__device__ Key start_key(SegmentFn fn) {
  if (fn == SegmentFn::sum) return 0;
  if constexpr (is_float_type<T>)
    return key_of(fn == SegmentFn::max ? -INFINITY : INFINITY);
  else
    return fn == SegmentFn::max ? 0 : sizeof(T) == 4 ? 0xffffffffU : ~Key(0);
}

template <class T>
__global__ void start_segments(const __grid_constant__ SegmentCall c) {
  int64_t at = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (at < c.rows * c.width) static_cast<Key*>(c.keys)[at] = start_key<T>(c.fn);
}

template <class T>
__global__ void join_segments(const __grid_constant__ SegmentCall c) {
  int64_t at = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= c.count * c.width) return;
  int64_t row = segment_of(c, at / c.width);
  if (row < 0 || row >= c.rows) return;
  T value = static_cast<const T*>(c.data)[at];
  Key* to = static_cast<Key*>(c.keys) + row * c.width + at % c.width;
  Key key = is_nan(value) ? nan_key(c.fn) : key_of(value);
  if (c.fn == SegmentFn::max)
    atomicMax(to, key);
  else if (c.fn == SegmentFn::min)
    atomicMin(to, key);
  else if constexpr (!is_float_type<T>)
    atomicAdd(to, Key(value));
}

template <class T>
__global__ void end_segments(const __grid_constant__ SegmentCall c) {
  int64_t at = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= c.rows * c.width) return;
  Key key = static_cast<const Key*>(c.keys)[at];
  T* y = static_cast<T*>(c.y);
  if constexpr (is_float_type<T>) {
    y[at] = key == nan_key(c.fn) ? from_float<T>(NAN) : number_of<T>(key);
  } else {
    y[at] = c.fn == SegmentFn::sum ? T(key) : number_of<T>(key);
  }
}

}  // namespace

size_t argsort_scratch(int64_t elements) {
  return 2 * rounded_up(size_t(elements) * sizeof(Key)) +
         2 * rounded_up(size_t(elements) * sizeof(uint32_t)) + pair_sort_bytes(elements);
}

void run_argsort(const ArgsortCall& call, cudaStream_t stream) {
  const int64_t elements = call.rows * call.columns;
  if (elements == 0) return;
  char* at = static_cast<char*>(call.scratch);
  auto take = [&](size_t bytes) { return std::exchange(at, at + rounded_up(bytes)); };
  auto *keys = reinterpret_cast<Key*>(take(size_t(elements) * sizeof(Key))),
       *sorted_keys = reinterpret_cast<Key*>(take(size_t(elements) * sizeof(Key)));
  auto *places = reinterpret_cast<uint32_t*>(take(size_t(elements) * sizeof(uint32_t))),
       *sorted = reinterpret_cast<uint32_t*>(take(size_t(elements) * sizeof(uint32_t)));
  size_t bytes = call.scratch_bytes - size_t(at - static_cast<char*>(call.scratch));
  const unsigned blocks = blocks_for(elements, kBlock);
  auto sort = [&](int bits) {
    check(cub::DeviceRadixSort::SortPairs(at, bytes, keys, sorted_keys, places, sorted, elements, 0,
                                          bits, stream),
          "argsort");
    std::swap(places, sorted);  // the result is in `places`
  };
  visit_number(call.dtype, [&]<class T>(T) {
    make_keys<<<blocks, kBlock, 0, stream>>>(static_cast<const T*>(call.x), elements, call.columns,
                                             call.descending, keys, places);
  });
  const bool wide_keys = call.dtype == DType::int64;
  sort(wide_keys ? 64 : 32 + bits_for(call.rows));
  if (wide_keys && call.rows > 1) {
    row_keys<<<blocks, kBlock, 0, stream>>>(places, elements, call.columns, keys);
    sort(bits_for(call.rows));
  }
  first_places<<<blocks_for(call.rows * call.k, kBlock), kBlock, 0, stream>>>(
      places, call.rows, call.columns, call.k, call.order);
  check_launch("argsort");
}

void run_cumulate(const CumulateCall& call, cudaStream_t stream) {
  if (call.rows * call.columns == 0) return;
  const unsigned blocks = blocks_for(call.rows, 1, 132 * 16);
  visit_number(call.dtype, [&]<class T>(T) {
    using A = std::conditional_t<is_float_type<T>, float, uint64_t>;
    cumulate<T, A><<<blocks, kBlock, 0, stream>>>(call);
  });
  check_launch("cumulate");
}

void run_segment_reduce(const SegmentCall& call, cudaStream_t stream) {
  if (call.rows * call.width == 0) return;
  const unsigned outputs = blocks_for(call.rows * call.width, kBlock);
  visit_number(call.dtype, [&]<class T>(T) {
    start_segments<T><<<outputs, kBlock, 0, stream>>>(call);
    if (call.count > 0)
      join_segments<T><<<blocks_for(call.count * call.width, kBlock), kBlock, 0, stream>>>(call);
    end_segments<T><<<outputs, kBlock, 0, stream>>>(call);
  });
  check_launch("segment_reduce");
}

}  // namespace stoker::cuda
