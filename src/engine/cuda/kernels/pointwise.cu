#include "engine/cuda/kernels/pointwise.h"

#include "base/integer_math.h"
#include "engine/cuda/kernels/pointwise_operands.cuh"
#include "engine/cuda/kernels/unary_math.cuh"

namespace stoker::cuda {

namespace {

__device__ __noinline__ float power(float a, float b) { return powf(a, b); }

// The rest has the sign of b.
__device__ __noinline__ float modulo(float a, float b) {
  float rest = fmodf(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
__device__ __noinline__ float floor_quotient(float a, float b) {
  return b == 0 ? a / b : rintf((a - modulo(a, b)) / b);
}

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
      case BinaryFn::mod:
        STOKER_EACH(modulo(a, b));
      case BinaryFn::floor_div:
        STOKER_EACH(floor_quotient(a, b));
      case BinaryFn::sigmoid_cross_entropy:
        STOKER_EACH(cross_entropy(a, b));
      default:
        return;
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
      case BinaryFn::mod:
        STOKER_EACH(floor_mod(a, b));
      case BinaryFn::floor_div:
        STOKER_EACH(floor_div(a, b));
      case BinaryFn::bit_and:
        STOKER_EACH(a & b);
      case BinaryFn::bit_or:
        STOKER_EACH(a | b);
      case BinaryFn::bit_xor:
        STOKER_EACH(a ^ b);
      case BinaryFn::shift_left:
        STOKER_EACH(shift_left(a, b));
      case BinaryFn::shift_right:
        STOKER_EACH(shift_right(a, b));
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
  for (int i = 0; i < N; ++i) acc[i] = unary_value<PreciseMath>(fn, acc[i], step.alpha, step.beta);
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
  for (int i = 0; i < N; ++i)
    acc[i] *= unary_slope<PreciseMath>(fn, value[i], step.alpha, step.beta);
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
  if (program.integers) return launch<int64_t, 1>(program, stream);
  return small ? launch<float, 1>(program, stream) : launch<float, 8>(program, stream);
}

}  // namespace stoker::cuda
