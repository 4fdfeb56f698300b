#include "engine/cuda/special/kernels/norm_pool.h"

#include "engine/cuda/kernels/norm_math.cuh"
#include "engine/cuda/kernels/windows.cuh"

namespace stoker::cuda {

namespace {

// A thread makes N channels of one pixel of the small image, a row of its window in flight.
template <class T, int N, int Window>
__global__ void __launch_bounds__(kBlock, 3)
    norm_pool(const __grid_constant__ NormPool call, int columns) {
  const PoolCall& c = call.pool;
  const int64_t channel = first_channel<N>(columns);
  if (channel >= c.channels) return;
  const T* x = static_cast<const T*>(c.x);
  NormValue<T, N> norm;
  norm.load(call.norm, channel);
  const int height = kBlock / columns;
  auto pixels = unsigned(int64_t(c.batch) * c.out_height * c.out_width);
  for (unsigned pixel = blockIdx.y * height + threadIdx.x / unsigned(columns); pixel < pixels;
       pixel += gridDim.y * height) {
    int column = int(pixel % unsigned(c.out_width)) * c.stride_x - c.left;
    unsigned above = pixel / unsigned(c.out_width);
    int row = int(above % unsigned(c.out_height)) * c.stride_y - c.top;
    const T* image =
        x + int64_t(above / unsigned(c.out_height)) * c.height * c.width * c.channels + channel;
    float most[N] = {};
    Pack<T, N> winners{};
    int places[N] = {};
    bool first = true;
#pragma unroll
    for (int in_row = 0; in_row < Window; ++in_row) {
      const int r = row + in_row;
      auto inside = [&](int q) {
        return r >= 0 && r < c.height && column + q >= 0 && column + q < c.width;
      };
      Raw<T, N> values[Window];
#pragma unroll
      for (int q = 0; q < Window; ++q)
        load_raw<T, N>(image + (int64_t(r) * c.width + column + q) * c.channels, inside(q),
                       values[q]);
#pragma unroll
      for (int q = 0; q < Window; ++q) {
        if (!inside(q)) continue;
        Pack<T, N> x_pack = unpack<T, N>(values[q]);
#pragma unroll
        for (int i = 0; i < N; ++i) {
          // As it would be stored between the two: ties are ties there. Below zero all are alike.
          float value = to_float(from_float<T>(norm.of(i, to_float(x_pack.at[i]))));
          bool wins = first || beats(value, most[i]);
          most[i] = wins ? value : most[i];
          winners.at[i] = wins ? x_pack.at[i] : winners.at[i];
          places[i] = wins ? in_row * Window + q : places[i];
        }
        first = false;
      }
    }
    int64_t at = int64_t(pixel) * c.channels + channel;
#pragma unroll
    for (int i = 0; i < N; ++i) most[i] = most[i] < 0 ? 0 : most[i];
    store_floats<N>(most, static_cast<T*>(c.out) + at);
    if (c.places == nullptr) continue;
    Pack<uint8_t, N> noted;
#pragma unroll
    for (int i = 0; i < N; ++i)
      noted.at[i] = uint8_t(
          norm.of(i, to_float(winners.at[i])) > 0 ? places[i] : places[i] | PoolCall::kNotPositive);
    *reinterpret_cast<Pack<uint8_t, N>*>(c.places + at) = noted;
    *reinterpret_cast<Pack<T, N>*>(static_cast<T*>(call.winners) + at) = winners;
  }
}

// A thread makes N channels of a quad of dx.
template <class T, int N>
__global__ void __launch_bounds__(kBlock, 2)
    norm_pool_grad(const __grid_constant__ NormPoolGrad call, int columns) {
  const PoolCall& c = call.pool;
  const int64_t channel = first_channel<N>(columns);
  if (channel >= c.channels) return;
  NormSlope<T, N> slope_of(call.norm, call.dgamma, call.dbeta, channel,
                           int64_t(c.batch) * c.height * c.width);
  const int height = kBlock / columns;
  auto quads = unsigned(Quad::count(c));
  for (unsigned number = blockIdx.y * height + threadIdx.x / unsigned(columns); number < quads;
       number += gridDim.y * height) {
    Quad quad(c, number);
    Raw<T, N> values[4];
#pragma unroll
    for (int p = 0; p < 4; ++p)
      load_raw<T, N>(static_cast<const T*>(c.x) + quad.at(c, p) + channel, quad.has(c, p),
                     values[p]);
    QuadWindows<T, N> windows(c, quad, channel);
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      if (!quad.has(c, p)) continue;
      Pack<T, N> x = unpack<T, N>(values[p]);
      float slopes[N];
      windows.gather(c, quad, p, slopes);
#pragma unroll
      for (int i = 0; i < N; ++i) slopes[i] = slope_of.of(i, to_float(x.at[i]), slopes[i]);
      store_floats<N>(slopes, static_cast<T*>(c.out) + quad.at(c, p) + channel);
    }
  }
}

void expect_small(const PoolCall& c) {
  if (int64_t(c.batch) * c.height * c.width >= int64_t(1) << 31)
    throw CudaError("pooling: more than 2^31 pixels; a smaller batch would do");
}

}  // namespace

void run_norm_pool(const NormPool& call, cudaStream_t stream) {
  const PoolCall& c = call.pool;
  expect_small(c);
  with_lanes(c.dtype, c.channels, [&]<class T, class N>(T, N) {
    auto kernel = c.window_x == 2 ? norm_pool<T, N::value, 2> : norm_pool<T, N::value, 3>;
    launch_rows(kernel, call, int64_t(c.batch) * c.out_height * c.out_width, c.channels, N::value,
                stream);
  });
  check_launch("norm_pool");
}

void run_norm_pool_grad(const NormPoolGrad& call, cudaStream_t stream) {
  const PoolCall& c = call.pool;
  expect_small(c);
  with_lanes(c.dtype, c.channels, [&]<class T, class N>(T, N) {
    launch_rows(norm_pool_grad<T, N::value>, call, Quad::count(c), c.channels, N::value, stream);
  });
  check_launch("norm_pool_grad");
}

}  // namespace stoker::cuda
