#include "engine/cuda/kernels/reduce.h"

#include "engine/cuda/kernels/rows.cuh"

namespace stoker::cuda {

namespace {

// What a sum of T is kept in.
template <class T>
using Sum = std::conditional_t<is_float_type<T>, float, int64_t>;

template <class S>
__device__ S start_of(ReduceFn fn) {
  if constexpr (std::is_same_v<S, float>) {
    if (fn == ReduceFn::max) return -INFINITY;
    if (fn == ReduceFn::min) return INFINITY;
  } else {
    if (fn == ReduceFn::max) return std::numeric_limits<S>::min();
    if (fn == ReduceFn::min) return std::numeric_limits<S>::max();
  }
  return fn == ReduceFn::prod ? S(1) : S(0);
}

template <class S>
__device__ S combine(ReduceFn fn, S a, S b) {
  switch (fn) {
    case ReduceFn::sum:
    case ReduceFn::mean:
      return a + b;
    case ReduceFn::max:
      return a >= b || a != a ? a : b;  // NaN stays
    case ReduceFn::min:
      return a <= b || a != a ? a : b;
    case ReduceFn::prod:
      return a * b;
  }
  return a;
}

__device__ inline int64_t offset(int rank, const int64_t* dims, const int64_t* strides,
                                 int64_t index) {
  if (rank == 1) return index * strides[0];
  int64_t at = 0;
  for (int axis = rank - 1; axis >= 0; --axis) {
    at += index % dims[axis] * strides[axis];
    index /= dims[axis];
  }
  return at;
}

template <class S, class Y>
__device__ void finish(const ReduceCall& c, int64_t output, S total) {
  if constexpr (std::is_same_v<S, float>)
    if (c.fn == ReduceFn::mean) total /= float(c.shape.inputs);
  static_cast<Y*>(c.y)[output] = convert_to<Y>(total);
}

// A block is `width` outputs by kBlock / width parts of each sum; blockIdx.y is one of `splits`.
template <class T, class Y>
__global__ void __launch_bounds__(kBlock) reduce(const __grid_constant__ ReduceCall c, int width) {
  using S = Sum<T>;
  __shared__ S parts[kBlock];
  int column = int(threadIdx.x) % width, part = int(threadIdx.x) / width, height = kBlock / width;
  int64_t output = int64_t(blockIdx.x) * width + column;
  S total = start_of<S>(c.fn);
  if (output < c.shape.outputs) {
    const T* x = static_cast<const T*>(c.x) +
                 offset(c.shape.kept_rank, c.shape.kept, c.shape.kept_strides, output);
    for (int64_t i = int64_t(blockIdx.y) * height + part; i < c.shape.inputs;
         i += int64_t(gridDim.y) * height) {
      T value = x[offset(c.shape.gone_rank, c.shape.gone, c.shape.gone_strides, i)];
      total = combine(c.fn, total, convert_to<S>(value));
    }
  }
  parts[part * width + column] = total;
  __syncthreads();
  for (int half = height / 2; half > 0; half /= 2) {
    if (part < half)
      parts[part * width + column] =
          combine(c.fn, parts[part * width + column], parts[(part + half) * width + column]);
    __syncthreads();
  }
  if (part != 0 || output >= c.shape.outputs) return;
  total = parts[column];
  if (c.splits > 1)
    static_cast<S*>(c.partials)[blockIdx.y * c.shape.outputs + output] = total;
  else
    finish<S, Y>(c, output, total);
}

template <class S, class Y>
__global__ void __launch_bounds__(kBlock) finish_reduce(const __grid_constant__ ReduceCall c) {
  int64_t output = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  if (output >= c.shape.outputs) return;
  const S* partials = static_cast<const S*>(c.partials);
  S total = partials[output];
  for (int split = 1; split < c.splits; ++split)
    total = combine(c.fn, total, partials[split * c.shape.outputs + output]);
  finish<S, Y>(c, output, total);
}

// Sums over a middle axis (global pooling): a thread makes N outputs that lie side by side.
template <class T, class Y, int N>
__global__ void __launch_bounds__(kBlock) reduce_middle(const __grid_constant__ ReduceCall c) {
  constexpr int kInFlight = 8;
  int64_t output = (int64_t(blockIdx.x) * kBlock + threadIdx.x) * N;
  if (output >= c.shape.outputs) return;
  const T* x = static_cast<const T*>(c.x) +
               offset(c.shape.kept_rank, c.shape.kept, c.shape.kept_strides, output);
  float totals[N] = {};
  for (int64_t first = 0; first < c.shape.inputs; first += kInFlight) {
    Raw<T, N> raw[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u)
      load_raw<T, N>(x + (first + u) * c.shape.gone_strides[0], first + u < c.shape.inputs, raw[u]);
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      Pack<T, N> values = unpack<T, N>(raw[u]);
#pragma unroll
      for (int i = 0; i < N; ++i) totals[i] += to_float(values.at[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) finish<float, Y>(c, output + i, totals[i]);
}

// Whether that kernel fits, and keeps the device busy.
bool is_middle(const ReduceCall& call, int lanes) {
  const ReduceShape& s = call.shape;
  return (call.fn == ReduceFn::sum || call.fn == ReduceFn::mean) && !s.rows && call.splits == 1 &&
         s.gone_rank == 1 && s.kept_rank > 0 && s.kept_strides[s.kept_rank - 1] == 1 &&
         s.kept[s.kept_rank - 1] % lanes == 0 && s.gone_strides[0] % lanes == 0 &&
         s.outputs / lanes >= 132 * kBlock;
}

int width_of(const ReduceShape& shape) {
  if (shape.rows) return 1;
  int width = 1;
  while (width < 32 && width < shape.outputs) width *= 2;
  return width;
}

template <class T, class Y>
void launch(const ReduceCall& call, cudaStream_t stream) {
  if constexpr (is_float_type<T>)
    if (constexpr int kWide = kLanes<T>; is_middle(call, kWide)) {
      reduce_middle<T, Y, kWide>
          <<<blocks_for(call.shape.outputs / kWide, kBlock), kBlock, 0, stream>>>(call);
      return check_launch("reduce_middle");
    }
  int width = width_of(call.shape);
  dim3 grid(blocks_for(call.shape.outputs, width), unsigned(call.splits));
  reduce<T, Y><<<grid, kBlock, 0, stream>>>(call, width);
  check_launch("reduce");
  if (call.splits == 1) return;
  finish_reduce<Sum<T>, Y><<<blocks_for(call.shape.outputs, kBlock), kBlock, 0, stream>>>(call);
  check_launch("finish_reduce");
}

// NaN is the largest of all.
template <class S>
__device__ bool is_larger(S a, S b) {
  return a > b || (a != a && b == b);
}

// One warp an output, or one thread where the axis is not the innermost.
template <class T>
__global__ void argmax(const T* x, int64_t outer, int64_t extent, int64_t inner, int64_t* y) {
  int64_t output = int64_t(blockIdx.x) * (kBlock / 32) + threadIdx.x / 32;
  if (output >= outer * inner) return;
  int lane = int(threadIdx.x) % 32;
  x += output / inner * extent * inner + output % inner;
  int64_t best = -1;
  Sum<T> most{};
  for (int64_t i = lane; i < extent; i += 32) {
    auto value = convert_to<Sum<T>>(x[i * inner]);
    if (best < 0 || is_larger(value, most)) {
      most = value;
      best = i;
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    Sum<T> other = __shfl_xor_sync(~0U, most, step);
    int64_t where = __shfl_xor_sync(~0U, best, step);
    bool equal = !is_larger(other, most) && !is_larger(most, other);
    if (where >= 0 && (best < 0 || is_larger(other, most) || (equal && where < best))) {
      most = other;
      best = where;
    }
  }
  if (lane == 0) y[output] = best < 0 ? 0 : best;
}

}  // namespace

int reduce_splits(const ReduceShape& shape) {
  int64_t width = width_of(shape), blocks = (shape.outputs + width - 1) / width;
  int64_t loops = shape.inputs / (kBlock / width);  // a thread's additions without splitting
  return int(std::clamp<int64_t>(std::min(264 / blocks, loops / 8), 1, 256));
}

void run_reduce(const ReduceCall& call, cudaStream_t stream) {
  if (call.shape.outputs == 0) return;
  switch (call.dtype) {
    case DType::float32:
      return launch<float, float>(call, stream);
    case DType::float16:
      return call.out_dtype == DType::float32 ? launch<Half, float>(call, stream)
                                              : launch<Half, Half>(call, stream);
    case DType::bfloat16:
      return call.out_dtype == DType::float32 ? launch<Bfloat, float>(call, stream)
                                              : launch<Bfloat, Bfloat>(call, stream);
    case DType::int32:
      return launch<int32_t, int32_t>(call, stream);
    case DType::int64:
      return launch<int64_t, int64_t>(call, stream);
    default:
      throw ShapeError("reduce: expected floats, int32 or int64");
  }
}

void run_argmax(DType dtype, const void* x, int64_t outer, int64_t extent, int64_t inner,
                int64_t* y, cudaStream_t stream) {
  if (outer * inner == 0) return;
  visit_element(dtype, [&]<class T>(T) {
    if constexpr (is_float_type<T> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>)
      argmax<<<blocks_for(outer * inner, kBlock / 32), kBlock, 0, stream>>>(
          static_cast<const T*>(x), outer, extent, inner, y);
  });
  check_launch("argmax");
}

}  // namespace stoker::cuda
