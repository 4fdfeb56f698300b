#include "engine/cuda/kernels/relu_slope.h"

#include <utility>

#include "engine/cuda/kernels/common.cuh"
#include "graph/unary.h"

namespace stoker::cuda {

namespace {

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

}  // namespace

bool run_relu_slope(const PointwiseProgram& p, cudaStream_t stream) {
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

}  // namespace stoker::cuda
