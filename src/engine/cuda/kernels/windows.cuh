// Which pixels a window of a pooling holds, and which windows hold a pixel.
#pragma once

#include "engine/cuda/kernels/pooling.h"
#include "engine/cuda/kernels/rows.cuh"

namespace stoker::cuda {

struct Range {
  int begin, end;
};

// The part of a window at output `out` that lies in the image.
__device__ inline Range inside_image(int out, int stride, int pad, int window, int extent) {
  int first = out * stride - pad;
  return {max(first, 0), min(first + window, extent)};
}

// The outputs whose windows hold pixel `at`.
__device__ inline Range windows_of(int at, int stride, int pad, int window, int outputs) {
  int last = at + pad, first = last - window + 1;
  return {first <= 0 ? 0 : (first + stride - 1) / stride, min(last / stride + 1, outputs)};
}

// 2×2 pixels of x, which share the windows they ask where the stride is 2.
struct Quad {
  int b, row, column;  // of the first

  __device__ Quad(const PoolCall& c, unsigned number) {
    auto wide = unsigned(c.width + 1) / 2, high = unsigned(c.height + 1) / 2;
    column = int(number % wide) * 2;
    row = int(number / wide % high) * 2;
    b = int(number / wide / high);
  }
  __host__ __device__ static int64_t count(const PoolCall& c) {
    return int64_t(c.batch) * ((c.height + 1) / 2) * ((c.width + 1) / 2);
  }
  __device__ bool has(const PoolCall& c, int p) const {
    return row + p / 2 < c.height && column + p % 2 < c.width;
  }
  // Where pixel p's channels begin.
  __device__ int64_t at(const PoolCall& c, int p) const {
    return ((int64_t(b) * c.height + row + p / 2) * c.width + column + p % 2) * c.channels;
  }
};

// N bytes as they were loaded.
template <int N>
using RawBytes = std::conditional_t<N == 8, uint2, std::conditional_t<N == 4, unsigned, uint8_t>>;

// What max pooling's gradient is at N channels of a quad, from places. Windows reach over three
// pixels at most: then two of them, each way, hold all that there is.
template <class T, int N>
struct QuadWindows {
  int row, column;  // of the first window
  Raw<T, N> slopes[4];
  RawBytes<N> places[4];

  __device__ QuadWindows(const PoolCall& c, const Quad& quad, int64_t channel)
      : row(windows_of(quad.row, 2, c.top, c.window_y, c.out_height).begin),
        column(windows_of(quad.column, 2, c.left, c.window_x, c.out_width).begin) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      int64_t at = ((int64_t(quad.b) * c.out_height + row + w / 2) * c.out_width + column + w % 2) *
                       c.channels +
                   channel;
      load_raw<T, N>(static_cast<const T*>(c.dy) + at, has(c, w), slopes[w]);
      places[w] = {};
      if (has(c, w)) places[w] = *reinterpret_cast<const RawBytes<N>*>(c.places + at);
    }
  }

  __device__ bool has(const PoolCall& c, int w) const {
    return row + w / 2 < c.out_height && column + w % 2 < c.out_width;
  }

  // Of pixel p.
  __device__ void gather(const PoolCall& c, const Quad& quad, int p, float (&result)[N]) const {
#pragma unroll
    for (int i = 0; i < N; ++i) result[i] = 0;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      int in_row = quad.row + p / 2 - ((row + w / 2) * 2 - c.top);
      int in_column = quad.column + p % 2 - ((column + w % 2) * 2 - c.left);
      bool inside = has(c, w) && in_row >= 0 && in_row < c.window_y && in_column >= 0 &&
                    in_column < c.window_x;
      if (!inside) continue;
      int mine = in_row * c.window_x + in_column;
      Pack<T, N> slope = unpack<T, N>(slopes[w]);
      const auto* place = reinterpret_cast<const uint8_t*>(&places[w]);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        int won = c.relu ? place[i] : place[i] & (PoolCall::kNotPositive - 1);
        if (won == mine) result[i] += to_float(slope.at[i]);
      }
    }
  }
};

}  // namespace stoker::cuda
