// What generated kernels (codegen.h) start with. Compiled at run time, without any other header than
// the ones named here; its conversions are those of base/convert.h, as kernels/common.cuh has them.
#define STOKER_UNARY_CALL __forceinline__ static
#include "engine/cuda/kernels/unary_math.cuh"

using namespace stoker;
using namespace stoker::cuda;

#ifdef __CUDACC__  // tests compile this for the host, which has its own
__device__ __forceinline__ float half_value(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
__device__ __forceinline__ unsigned short half_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif

struct Half {
  unsigned short bits;
};
struct Bfloat {
  unsigned short bits;
};

template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
};

template <class T, int N>
__device__ __forceinline__ Pack<T, N> load(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

// --- from memory into registers: float, long long or bool ---

__device__ __forceinline__ float read(float x) { return x; }
__device__ __forceinline__ float read(Bfloat x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
__device__ __forceinline__ float read(Half x) { return half_value(x.bits); }
__device__ __forceinline__ bool read(bool x) { return x; }
template <class T>
__device__ __forceinline__ long long read(T x) {
  return x;
}

// --- and back ---

template <class T>
struct Convert {  // integers: floats saturate, NaN is 0; integers wrap
  static constexpr int kBits = 8 * sizeof(T);
  static constexpr bool kSigned = T(-1) < T(0);
  static constexpr T kHigh = T(~0ULL >> (64 - kBits + (kSigned ? 1 : 0))),
                     kLow = kSigned ? T(~kHigh) : T(0);
  __device__ __forceinline__ static T from(float x) {
    if (x >= static_cast<float>(kHigh)) return kHigh;
    if (x <= static_cast<float>(kLow)) return kLow;
    return x == x ? static_cast<T>(x) : T(0);
  }
  __device__ __forceinline__ static T from(long long x) { return static_cast<T>(x); }
  __device__ __forceinline__ static T from(bool x) { return static_cast<T>(x); }
};
template <>
struct Convert<bool> {
  template <class From>
  __device__ __forceinline__ static bool from(From x) {
    return x != From(0);
  }
};
template <>
struct Convert<float> {
  template <class From>
  __device__ __forceinline__ static float from(From x) {
    return static_cast<float>(x);
  }
};
template <>
struct Convert<Half> {
  template <class From>
  __device__ __forceinline__ static Half from(From x) {
    return {half_bits(static_cast<float>(x))};
  }
};
template <>
struct Convert<Bfloat> {
  template <class From>
  __device__ __forceinline__ static Bfloat from(From x) {
    Bfloat y;
#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(static_cast<float>(x)));
#else
    unsigned bits = __float_as_uint(static_cast<float>(x));
    bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    y.bits =
        nan ? 0x7fff : static_cast<unsigned short>((bits + 0x7fffU + ((bits >> 16) & 1)) >> 16);
#endif
    return y;
  }
};
// As memory of T would hold it.
template <class T, class From>
__device__ __forceinline__ auto stored(From x) {
  return read(Convert<T>::from(x));
}

// --- functions ---

#define STOKER_BINARY(name, type, expression) \
  __device__ __forceinline__ auto name(type a, type b) { return expression; }
STOKER_BINARY(binary_add, float, a + b)
STOKER_BINARY(binary_sub, float, a - b)
STOKER_BINARY(binary_mul, float, a* b)
STOKER_BINARY(binary_div, float, a / b)
STOKER_BINARY(binary_pow, float, powf(a, b))
STOKER_BINARY(binary_maximum, float, a >= b || a != a ? a : b)  // NaN stays
STOKER_BINARY(binary_minimum, float, a <= b || a != a ? a : b)
STOKER_BINARY(binary_mod, float,
              fmodf(a, b) != 0 && (fmodf(a, b) < 0) != (b < 0) ? fmodf(a, b) + b : fmodf(a, b))
STOKER_BINARY(binary_floor_div, float, b == 0 ? a / b : rintf((a - binary_mod(a, b)) / b))
STOKER_BINARY(binary_sigmoid_cross_entropy, float, fmaxf(a, 0.0F) - a * b + log1pf(expf(-fabsf(a))))
using Unsigned = unsigned long long;
STOKER_BINARY(binary_add, long long, static_cast<long long>(Unsigned(a) + Unsigned(b)))
STOKER_BINARY(binary_sub, long long, static_cast<long long>(Unsigned(a) - Unsigned(b)))
STOKER_BINARY(binary_mul, long long, static_cast<long long>(Unsigned(a) * Unsigned(b)))
STOKER_BINARY(binary_div, long long,
              b == 0    ? 0LL
              : b == -1 ? static_cast<long long>(0ULL - Unsigned(a))
                        : a / b)
STOKER_BINARY(binary_maximum, long long, a >= b ? a : b)
STOKER_BINARY(binary_minimum, long long, a <= b ? a : b)
// As base/integer_math.h has them.
STOKER_BINARY(binary_mod, long long,
              b == 0 || b == -1                      ? 0
              : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b
                                                     : a % b)
STOKER_BINARY(binary_floor_div, long long,
              b == 0    ? 0
              : b == -1 ? static_cast<long long>(0 - Unsigned(a))
                        : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0))
STOKER_BINARY(binary_bit_and, long long, a& b)
STOKER_BINARY(binary_bit_or, long long, a | b)
STOKER_BINARY(binary_bit_xor, long long, a ^ b)
STOKER_BINARY(binary_shift_left, long long,
              b<0 ? a : b> 63 ? 0 : static_cast<long long>(Unsigned(a) << b))
STOKER_BINARY(binary_shift_right, long long, b < 0 ? a : a >> (b > 63 ? 63 : b))
#define STOKER_COMPARE(name, sign)                           \
  template <class T>                                         \
  __device__ __forceinline__ bool compare_##name(T a, T b) { \
    return a sign b;                                         \
  }
STOKER_COMPARE(equal, ==)
STOKER_COMPARE(not_equal, !=)
STOKER_COMPARE(less, <)
STOKER_COMPARE(less_equal, <=)
STOKER_COMPARE(greater, >)
STOKER_COMPARE(greater_equal, >=)

// --- reductions ---

struct Sum {
  template <class A>
  __device__ static A start() {
    return A(0);
  }
  template <class A>
  __device__ static A join(A a, A b) {
    return binary_add(a, b);
  }
};
struct Prod {
  template <class A>
  __device__ static A start() {
    return A(1);
  }
  template <class A>
  __device__ static A join(A a, A b) {
    return binary_mul(a, b);
  }
};
__device__ __forceinline__ void set_lowest(float& x) { x = __uint_as_float(0xff800000U); }
__device__ __forceinline__ void set_lowest(long long& x) { x = 1LL << 63; }
struct Max {
  template <class A>
  __device__ static A start() {
    A x;
    set_lowest(x);
    return x;
  }
  template <class A>
  __device__ static A join(A a, A b) {
    return binary_maximum(a, b);
  }
};
struct Min {
  template <class A>
  __device__ static A start() {
    A x;
    set_lowest(x);
    return sizeof(A) == 4 ? -x : A(~static_cast<long long>(x));
  }
  template <class A>
  __device__ static A join(A a, A b) {
    return binary_minimum(a, b);
  }
};

// Whether this block is the last of `blocks` to arrive; then it sees what all have written. The
// counter is zero before and after.
__device__ inline bool is_last_block(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1U) == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

// The value of every thread of a group of `Group` neighbours, joined in a fixed order; all threads
// of the block take part, all of the group get it.
template <class Join, int Group, class A>
__device__ inline A join_group(A value) {
#pragma unroll
  for (int offset = (Group < 32 ? Group : 32) / 2; offset > 0; offset /= 2)
    value = Join::template join<A>(value, __shfl_xor_sync(~0U, value, offset));
  if constexpr (Group > 32) {
    __shared__ A parts[32];
    int warp = threadIdx.x / 32;
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[warp] = value;
    __syncthreads();
    int first = warp / (Group / 32) * (Group / 32);
    value = parts[first];
#pragma unroll
    for (int i = 1; i < Group / 32; ++i) value = Join::template join<A>(value, parts[first + i]);
  }
  return value;
}
