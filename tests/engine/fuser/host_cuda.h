// Enough of CUDA for the host's compiler to take generated kernels: a block's threads are
// coroutines that switch at barriers and shuffles. Included by generated sources alone.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

constexpr unsigned kBlockSize = 256;

struct GridPlace {
  unsigned x = 0, y = 0;
};
static GridPlace blockIdx, gridDim;
static struct { unsigned x = 0; } threadIdx;

static inline float __uint_as_float(unsigned bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
static inline unsigned __float_as_uint(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  return bits;
}
static inline float host_exp(float x) { return expf(x); }
#define __expf host_exp
static inline float __fdividef(float a, float b) { return a / b; }
// By Newton's method on erf(y) = x; the C library has none.
static inline float erfinvf(float x) {
  if (!(x > -1 && x < 1)) return x == 1 || x == -1 ? x * INFINITY : NAN;
  double y = 0.88 * x;
  for (int step = 0; step < 60; ++step)
    y -= (std::erf(y) - x) / (1.1283791670955126 * std::exp(-y * y));
  return float(y);
}
static inline float half_value(unsigned short bits) {
  _Float16 x;
  memcpy(&x, &bits, 2);
  return float(x);
}
static inline unsigned short half_bits(float value) {
  auto x = _Float16(value);
  unsigned short bits;
  memcpy(&bits, &x, 2);
  return bits;
}
template <class T>
static inline T __ldcg(const T* from) {
  return *from;
}
using std::min;
static inline unsigned atomicAdd(unsigned* at, unsigned more) {
  unsigned before = *at;
  *at += more;
  return before;
}
static inline void __threadfence() {}

// --- the threads of a block ---

static ucontext_t scheduler, threads[kBlockSize];
static bool finished[kBlockSize];
static std::vector<char> stacks(kBlockSize * 65536);
static void (*kernel_body)(void**);
static void** kernel_arguments;

static void __syncthreads() {
  unsigned self = threadIdx.x;
  swapcontext(&threads[self], &scheduler);
  threadIdx.x = self;
}

template <class T>
static T __shfl_xor_sync(unsigned, T value, int mask) {
  static T slots[kBlockSize];
  slots[threadIdx.x] = value;
  __syncthreads();
  T other = slots[threadIdx.x ^ unsigned(mask)];
  __syncthreads();
  return other;
}

static void run_thread() {
  kernel_body(kernel_arguments);
  finished[threadIdx.x] = true;
  swapcontext(&threads[threadIdx.x], &scheduler);
}

static void run_block() {
  for (unsigned i = 0; i < kBlockSize; ++i) {
    finished[i] = false;
    getcontext(&threads[i]);
    threads[i].uc_stack.ss_sp = stacks.data() + i * 65536;
    threads[i].uc_stack.ss_size = 65536;
    makecontext(&threads[i], run_thread, 0);
  }
  for (bool running = true; running;) {
    running = false;
    for (unsigned i = 0; i < kBlockSize; ++i) {
      if (finished[i]) continue;
      threadIdx.x = i;
      swapcontext(&scheduler, &threads[i]);
      running |= !finished[i];
    }
  }
}

static void run_grid(GridPlace grid, void (*body)(void**), void** arguments) {
  gridDim = grid;
  kernel_body = body;
  kernel_arguments = arguments;
  for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) run_block();
}

// A kernel called with its parameters from a list of addresses.
template <class... Parameters, size_t... Which>
static void call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<Which...>) {
  kernel(static_cast<Parameters>(arguments[Which])...);
}
template <class... Parameters>
static void call(void (*kernel)(Parameters...), void** arguments) {
  call(kernel, arguments, std::index_sequence_for<Parameters...>());
}
