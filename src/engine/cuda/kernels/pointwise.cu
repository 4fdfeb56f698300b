#include "engine/cuda/kernels/pointwise.h"

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/unary_math.cuh"

namespace stoker::cuda {

namespace {

// Compiling this kernel is most of the work of building the engine, so every piece of code in it
// stands there once: floats that lie side by side are read in sixteen bytes, everything else one by
// one through a call.
template <class A>
__device__ __noinline__ A element_at(const void* data, DType dtype, int64_t at) {
  switch (dtype) {
    case DType::float32:
      return convert_to<A>(static_cast<const float*>(data)[at]);
    case DType::float16:
      return convert_to<A>(static_cast<const Half*>(data)[at]);
    case DType::bfloat16:
      return convert_to<A>(static_cast<const Bfloat*>(data)[at]);
    case DType::int8:
      return convert_to<A>(static_cast<const int8_t*>(data)[at]);
    case DType::int16:
      return convert_to<A>(static_cast<const int16_t*>(data)[at]);
    case DType::int32:
      return convert_to<A>(static_cast<const int32_t*>(data)[at]);
    case DType::int64:
      return convert_to<A>(static_cast<const int64_t*>(data)[at]);
    case DType::uint8:
      return convert_to<A>(static_cast<const uint8_t*>(data)[at]);
    case DType::bool_:
      return convert_to<A>(static_cast<const bool*>(data)[at]);
    case DType::bytes:
      break;
  }
  return A(0);
}

template <class A>
__device__ __noinline__ void put_element(void* data, DType dtype, int64_t at, A value) {
  switch (dtype) {
    case DType::float32:
      static_cast<float*>(data)[at] = convert_to<float>(value);
      return;
    case DType::float16:
      static_cast<Half*>(data)[at] = convert_to<Half>(value);
      return;
    case DType::bfloat16:
      static_cast<Bfloat*>(data)[at] = convert_to<Bfloat>(value);
      return;
    case DType::int8:
      static_cast<int8_t*>(data)[at] = convert_to<int8_t>(value);
      return;
    case DType::int16:
      static_cast<int16_t*>(data)[at] = convert_to<int16_t>(value);
      return;
    case DType::int32:
      static_cast<int32_t*>(data)[at] = convert_to<int32_t>(value);
      return;
    case DType::int64:
      static_cast<int64_t*>(data)[at] = convert_to<int64_t>(value);
      return;
    case DType::uint8:
      static_cast<uint8_t*>(data)[at] = convert_to<uint8_t>(value);
      return;
    case DType::bool_:
      static_cast<bool*>(data)[at] = convert_to<bool>(value);
      return;
    case DType::bytes:
      return;
  }
}

template <class Index>
__device__ inline int64_t strided_position(const PointwiseProgram& p,
                                           const PointwiseOperand& operand, Index element) {
  int64_t at = 0;
  for (int axis = p.rank - 1; axis >= 0; --axis) {
    auto extent = Index(p.dims[axis]);
    at += int64_t(element % extent) * operand.strides[axis];
    element /= extent;
  }
  return at;
}

__device__ inline int64_t position(const PointwiseProgram& p, const PointwiseOperand& operand,
                                   int64_t element) {
  switch (operand.reading) {
    case Reading::same:
      return element;
    case Reading::scalar:
      return 0;
    case Reading::channels:
      return element % operand.extent;
    case Reading::strided:
      break;
  }
  // Divisions of 64 bits cost four times as much.
  return p.elements <= 0x7fffffff ? strided_position(p, operand, unsigned(element))
                                  : strided_position(p, operand, element);
}

// Whether N elements from `first` on lie side by side in the operand, and where. The host has seen
// to it that extents of channels are multiples of N where they are vectors. Of a strided operand
// the innermost axis may lie together: then the strides of the others are multiples of it.
template <int N>
__device__ inline bool lies_together(const PointwiseProgram& p, const PointwiseOperand& operand,
                                     int64_t first, int64_t* at) {
  bool together = operand.reading == Reading::same;
  if (operand.reading == Reading::channels) together = operand.extent % N == 0;
  if (operand.reading == Reading::strided)
    together = operand.strides[p.rank - 1] == 1 && p.dims[p.rank - 1] % N == 0;
  if (together) *at = position(p, operand, first);
  return together;
}

template <class A, int N>
__device__ inline void read(const PointwiseProgram& p, const PointwiseOperand& operand,
                            int64_t first, int valid, A* to) {
  int64_t at = first;
  if constexpr (N > 1) {
    if (valid == N && lies_together<N>(p, operand, first, &at)) {
      switch (operand.dtype) {
        case DType::float32: {
          load_floats<N / 2>(static_cast<const float*>(operand.data) + at, to);
          load_floats<N / 2>(static_cast<const float*>(operand.data) + at + N / 2, to + N / 2);
          return;
        }
        case DType::float16:
          return load_floats<N>(static_cast<const Half*>(operand.data) + at, to);
        case DType::bfloat16:
          return load_floats<N>(static_cast<const Bfloat*>(operand.data) + at, to);
        default:
          break;
      }
    }
  }
  if (operand.reading == Reading::scalar) {
    A value = element_at<A>(operand.data, operand.dtype, 0);
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = value;
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i)
    to[i] = i < valid ? element_at<A>(operand.data, operand.dtype, position(p, operand, first + i))
                      : A(0);
}

template <class A, int N>
__device__ inline void write(const PointwiseProgram& p, int64_t first, int valid, const A* from) {
  if constexpr (N > 1) {
    if (valid == N) {
      switch (p.out_dtype) {
        case DType::float32:
          store_floats<N / 2>(from, static_cast<float*>(p.out) + first);
          store_floats<N / 2>(from + N / 2, static_cast<float*>(p.out) + first + N / 2);
          return;
        case DType::float16:
          return store_floats<N>(from, static_cast<Half*>(p.out) + first);
        case DType::bfloat16:
          return store_floats<N>(from, static_cast<Bfloat*>(p.out) + first);
        default:
          break;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (i < valid) put_element<A>(p.out, p.out_dtype, first + i, from[i]);
}

__device__ __noinline__ float power(float a, float b) { return powf(a, b); }

__device__ __noinline__ float cross_entropy(float x, float target) {
  return fmaxf(x, 0.0F) - x * target + log1pf(expf(-fabsf(x)));
}

// The frequent functions inline, the rest through calls: the switch is the same for all threads.
template <class A, int N>
__device__ void apply_binary(BinaryFn fn, const A* x, const A* y, A* to) {
#define STOKER_EACH(expression)                   \
  _Pragma("unroll") for (int i = 0; i < N; ++i) { \
    A a = x[i], b = y[i];                         \
    to[i] = (expression);                         \
  }                                               \
  return
  if constexpr (std::is_same_v<A, float>) {
    switch (fn) {
      case BinaryFn::add:
        STOKER_EACH(a + b);
      case BinaryFn::sub:
        STOKER_EACH(a - b);
      case BinaryFn::mul:
        STOKER_EACH(a * b);
      case BinaryFn::div:
        STOKER_EACH(a / b);
      case BinaryFn::pow:
        STOKER_EACH(power(a, b));
      case BinaryFn::maximum:
        STOKER_EACH(a >= b || a != a ? a : b);
      case BinaryFn::minimum:
        STOKER_EACH(a <= b || a != a ? a : b);
      case BinaryFn::sigmoid_cross_entropy:
        STOKER_EACH(cross_entropy(a, b));
    }
  } else {
    switch (fn) {
      case BinaryFn::add:
        STOKER_EACH(A(uint64_t(a) + uint64_t(b)));
      case BinaryFn::sub:
        STOKER_EACH(A(uint64_t(a) - uint64_t(b)));
      case BinaryFn::mul:
        STOKER_EACH(A(uint64_t(a) * uint64_t(b)));
      case BinaryFn::div:
        STOKER_EACH(b == 0 ? A(0) : b == -1 ? A(0 - uint64_t(a)) : a / b);
      case BinaryFn::maximum:
        STOKER_EACH(a >= b ? a : b);
      case BinaryFn::minimum:
        STOKER_EACH(a <= b ? a : b);
      default:
        return;
    }
  }
}

template <class A, int N>
__device__ void apply_compare(CompareFn fn, const A* x, const A* y, A* to) {
  switch (fn) {
    case CompareFn::equal:
      STOKER_EACH(A(a == b));
    case CompareFn::not_equal:
      STOKER_EACH(A(a != b));
    case CompareFn::less:
      STOKER_EACH(A(a < b));
    case CompareFn::less_equal:
      STOKER_EACH(A(a <= b));
    case CompareFn::greater:
      STOKER_EACH(A(a > b));
    case CompareFn::greater_equal:
      STOKER_EACH(A(a >= b));
  }
}
#undef STOKER_EACH

template <int N>
__device__ void apply_unary(const PointwiseStep& step, float* acc) {
  auto fn = UnaryFn(step.fn);
  if (fn == UnaryFn::relu) {
#pragma unroll
    for (int i = 0; i < N; ++i) acc[i] = acc[i] < 0 ? 0 : acc[i];
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) acc[i] = unary_value(fn, acc[i], step.alpha, step.beta);
}

// acc: the gradient that came
template <int N>
__device__ void apply_slope(const PointwiseStep& step, const float* value, float* acc) {
  auto fn = UnaryFn(step.fn);
  if (fn == UnaryFn::relu) {
#pragma unroll
    for (int i = 0; i < N; ++i) acc[i] *= float(value[i] > 0);
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) acc[i] *= unary_slope(fn, value[i], step.alpha, step.beta);
}

template <int N>
__device__ void apply_round(DType dtype, float* acc) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (dtype == DType::float16) acc[i] = to_float(from_float<Half>(acc[i]));
    if (dtype == DType::bfloat16) acc[i] = to_float(from_float<Bfloat>(acc[i]));
    if (dtype == DType::bool_) acc[i] = acc[i] != 0;
  }
}

template <class A, int N>
__global__ void __launch_bounds__(kBlock) pointwise(const __grid_constant__ PointwiseProgram p) {
  if (p.enabled != nullptr && *p.enabled == 0) return;
  for (int64_t first = (int64_t(blockIdx.x) * kBlock + threadIdx.x) * N; first < p.elements;
       first += int64_t(gridDim.x) * kBlock * N) {
    int valid = int(min(int64_t(N), p.elements - first));
    A acc[N], a[N], saved[PointwiseProgram::kMaxTemporaries][N];
    for (int s = 0; s < p.steps; ++s) {
      const PointwiseStep& step = p.step[s];
      if (step.a >= PointwiseProgram::kTemporary) {
#pragma unroll
        for (int i = 0; i < N; ++i) a[i] = saved[step.a - PointwiseProgram::kTemporary][i];
      } else if (step.a >= 0) {
        read<A, N>(p, p.operand[step.a], first, valid, a);
      }
      // Registers have no addresses: operands are exchanged by value, not by pointer.
      if (step.reversed) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
          A other = a[i];
          a[i] = acc[i];
          acc[i] = other;
        }
      }
      switch (step.op) {
        case PointwiseOp::load:
#pragma unroll
          for (int i = 0; i < N; ++i) acc[i] = a[i];
          break;
        case PointwiseOp::save:
#pragma unroll
          for (int i = 0; i < N; ++i) saved[step.fn][i] = acc[i];
          break;
        case PointwiseOp::unary:
          if constexpr (std::is_same_v<A, float>) apply_unary<N>(step, acc);
          break;
        case PointwiseOp::slope:
          if constexpr (std::is_same_v<A, float>) apply_slope<N>(step, a, acc);
          break;
        case PointwiseOp::binary:
          apply_binary<A, N>(BinaryFn(step.fn), acc, a, acc);
          break;
        case PointwiseOp::compare:
          apply_compare<A, N>(CompareFn(step.fn), acc, a, acc);
          break;
        case PointwiseOp::select:
#pragma unroll
          for (int i = 0; i < N; ++i) acc[i] = saved[step.fn][i] != A(0) ? acc[i] : a[i];
          break;
        case PointwiseOp::round:
          if constexpr (std::is_same_v<A, float>) apply_round<N>(DType(step.fn), acc);
          break;
      }
    }
    write<A, N>(p, first, valid, acc);
  }
}

// --- the sum of two gradients through a relu: what every residual block needs, three operands wide
// ---

template <class T>
struct ReluSlope {
  const T *a, *b, *y;  // (a + b) where y > 0; b may be null
  T* out;
  int64_t elements;
};

template <class T, bool Two>
__global__ void __launch_bounds__(kBlock) relu_slope(const ReluSlope<T> c) {
  constexpr int kWide = kLanes<T>;
  int64_t vectors = c.elements / kWide, step = int64_t(gridDim.x) * kBlock;
  int64_t at = int64_t(blockIdx.x) * kBlock + threadIdx.x;
  for (; at < vectors; at += 2 * step) {
    Pack<T, kWide> a[2], b[2], y[2];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      if (at + u * step >= vectors) continue;
      a[u] = reinterpret_cast<const Pack<T, kWide>*>(c.a)[at + u * step];
      if constexpr (Two) b[u] = reinterpret_cast<const Pack<T, kWide>*>(c.b)[at + u * step];
      y[u] = reinterpret_cast<const Pack<T, kWide>*>(c.y)[at + u * step];
    }
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      if (at + u * step >= vectors) continue;
      Pack<T, kWide> out;
#pragma unroll
      for (int i = 0; i < kWide; ++i) {
        float sum = to_float(a[u].at[i]);
        if constexpr (Two) sum += to_float(b[u].at[i]);
        out.at[i] = from_float<T>(sum * float(to_float(y[u].at[i]) > 0));
      }
      reinterpret_cast<Pack<T, kWide>*>(c.out)[at + u * step] = out;
    }
  }
}

// Whether a program is that expression, and its operands: a, b (or -1), y.
struct ReluSlopeOperands {
  int a, b, y;
};

bool is_relu_slope(const PointwiseProgram& p, ReluSlopeOperands* found) {
  bool two = p.steps == 3;
  if (p.integers || (p.steps != 2 && !two) || p.step[0].op != PointwiseOp::load) return false;
  const PointwiseStep& last = p.step[p.steps - 1];
  if (last.op != PointwiseOp::slope || UnaryFn(last.fn) != UnaryFn::relu) return false;
  if (two && (p.step[1].op != PointwiseOp::binary || BinaryFn(p.step[1].fn) != BinaryFn::add ||
              p.step[1].a >= p.operands))
    return false;
  *found = {p.step[0].a, two ? p.step[1].a : -1, last.a};
  if (!two && last.reversed) std::swap(found->a, found->y);
  if (two && last.reversed) return false;
  for (int i = 0; i < p.operands; ++i)
    if (p.operand[i].reading != Reading::same || p.operand[i].dtype != p.out_dtype) return false;
  return is_floating(p.out_dtype) && last.a < p.operands;
}

bool launch_relu_slope(const PointwiseProgram& p, cudaStream_t stream) {
  ReluSlopeOperands which{};
  int64_t lanes = p.out_dtype == DType::float32 ? 4 : 8;
  if (p.elements % lanes != 0 || !is_relu_slope(p, &which)) return false;
  visit_float(p.out_dtype, [&]<class T>(T) {
    auto at = [&](int i) { return i < 0 ? nullptr : static_cast<const T*>(p.operand[i].data); };
    ReluSlope<T> call{at(which.a), at(which.b), at(which.y), static_cast<T*>(p.out), p.elements};
    unsigned grid = blocks_for(p.elements / lanes, kBlock * 2, 132 * 16);
    if (which.b >= 0)
      relu_slope<T, true><<<grid, kBlock, 0, stream>>>(call);
    else
      relu_slope<T, false><<<grid, kBlock, 0, stream>>>(call);
  });
  check_launch("relu_slope");
  return true;
}

template <class A, int N>
void launch(const PointwiseProgram& program, cudaStream_t stream) {
  unsigned grid = blocks_for(program.elements, kBlock * N, 132 * 16);
  pointwise<A, N><<<grid, kBlock, 0, stream>>>(program);
  check_launch("pointwise");
}

}  // namespace

void run_pointwise(const PointwiseProgram& program, cudaStream_t stream) {
  if (program.elements == 0) return;
  bool small = program.elements < 132 * kBlock * 4;  // then one element a thread keeps all busy
  if (!small && launch_relu_slope(program, stream)) return;
  if (program.integers) return launch<int64_t, 1>(program, stream);
  return small ? launch<float, 1>(program, stream) : launch<float, 8>(program, stream);
}

}  // namespace stoker::cuda
