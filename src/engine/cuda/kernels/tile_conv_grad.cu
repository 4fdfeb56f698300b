#include "engine/cuda/kernels/tile_conv.cuh"
#include "engine/cuda/kernels/tile_conv.h"

namespace stoker::cuda {

namespace {

constexpr int kWarps = kBlock / 32;

// A unit of work: sixteen channels of a joined group by some columns, for one tap. A warp has up to
// kUnits of them; where there are fewer than warps, several share one and divide the pixels.
struct TileWeightGrad {
  TileGeometry g;
  const void *x = nullptr, *dy = nullptr;
  float* partials = nullptr;
  int units = 0;   // of a block's groups
  int shares = 1;  // warps per unit
};

struct UnitPlace {
  int group, tap, channel, column;
  template <int kTiles>
  __device__ static UnitPlace of(const TileGeometry& g, int unit) {
    const int pieces = (g.n + kTiles * 8 - 1) / (kTiles * 8), steps = g.k_padded / 16;
    UnitPlace at;
    at.column = unit % pieces * kTiles * 8;
    unit /= pieces;
    at.channel = unit % steps * 16;
    unit /= steps;
    at.tap = unit % g.taps();
    at.group = unit / g.taps();
    return at;
  }
};

// Sums of a unit to their places in [taps][channels of a group][filters].
template <int kTiles>
__device__ inline void store_sums(const TileGeometry& g, const float (&sums)[kTiles][4],
                                  const UnitPlace& at, int first, float* to) {
  const int lane = int(threadIdx.x) % 32;
  const int channels = g.k / g.joined, filters = g.n / g.joined;
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int channel = at.channel + lane / 4 + i / 2 * 8;
      const int filter = at.column + j * 8 + lane % 4 * 2 + i % 2;
      const int part = channel / channels;
      if (channel >= g.k || filter >= g.n || part != filter / filters) continue;
      to[int64_t(at.tap * channels + channel % channels) * g.s.filters + (first + at.group) * g.n +
         filter] = sums[j][i];
    }
}

template <class T, int kTiles, int kUnits>
__global__ void __launch_bounds__(kBlock, 2)
    tile_conv_weight_grad(const __grid_constant__ TileWeightGrad c) {
  extern __shared__ __align__(128) char shared[];
  const TileGeometry& g = c.g;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int first = int(blockIdx.y) * g.chunk, groups = min(g.chunk, g.groups - first);
  const int image_size = g.in_pixels() * g.pitch, dy_size = kTilePixels * g.out_pitch;
  T* image = reinterpret_cast<T*>(shared);
  T* gradient = image + g.buffers * image_size;
  clear_shared(shared, 2 * g.buffers * (image_size + dy_size));
  // The units of this warp: every `slots`th of all blocks that share these groups.
  const int slots = kWarps / c.shares, share = warp / slots;
  const int begin = int(blockIdx.z) * slots * kUnits + warp % slots;
  const int all = c.units / g.chunk * groups;
  int x_at[kUnits], dy_at[kUnits];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const UnitPlace at = UnitPlace::of<kTiles>(g, min(begin + u * slots, all - 1));
    x_at[u] =
        (at.tap / g.s.kernel_x * g.s.dilation_y * g.in_x + at.tap % g.s.kernel_x * g.s.dilation_x) *
            g.pitch +
        at.group * g.k_padded + at.channel;
    dy_at[u] = at.group * g.n_padded + at.column;
  }
  const ImageTiles tiles(g, first, groups);
  TileCopy gradients(g.s.out_height, g.s.out_width, g.s.filters, g.tile_y, g.tile_x, g.out_pitch);
  gradients.set_channels(first * g.n, g.n, g.n_padded, groups, g.out_vector);
  auto load = [&](int tile, int buffer) {
    const TilePlace at(g, tile);
    tiles.load(g, c.x, at, image + buffer * image_size);
    gradients.run(static_cast<const T*>(c.dy) +
                      int64_t(at.image) * g.s.out_height * g.s.out_width * g.s.filters,
                  at.row, at.column, g.out_vector, gradient + buffer * dy_size);
    end_copies();
  };
  __syncthreads();
  float sums[kUnits][kTiles][4] = {};
  const int step = int(gridDim.x);
  int tile = int(blockIdx.x), buffer = 0;
  load(tile, 0);
  for (; tile < g.tiles(); tile += step) {
    const bool more = tile + step < g.tiles();
    if (g.buffers == 2 && more) {
      load(tile + step, 1 - buffer);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    for (int pixel = share * 16; pixel < kTilePixels; pixel += c.shares * 16) {
      // Turned: lines of memory are pixels. Channels 0–7 and 8–15 of pixels 0–7, then of 8–15; of dy
      // pixels 0–7 and 8–15 of columns 0–7, then of 8–15.
      const int mine = pixel + lane / 16 * 8 + lane % 8;
      const T* x =
          image + buffer * image_size +
          (mine / g.tile_x * g.s.stride_y * g.in_x + mine % g.tile_x * g.s.stride_x) * g.pitch +
          lane / 8 % 2 * 8;
      const T* dy = gradient + buffer * dy_size + (pixel + lane % 16) * g.out_pitch + lane / 16 * 8;
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        if (begin + u * slots >= all) break;
        unsigned a[4], b[kTiles / 2][4] = {};
        load_turned_matrices(a, x + x_at[u]);
#pragma unroll
        for (int j = 0; j < kTiles / 2; ++j)
          if (dy_at[u] + j * 16 < g.out_pitch - 8)
            load_turned_matrices(b[j], dy + dy_at[u] + j * 16);
#pragma unroll
        for (int j = 0; j < kTiles; ++j)
          multiply<T>(sums[u][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
    __syncthreads();
    if (g.buffers == 2)
      buffer = 1 - buffer;
    else if (more)
      load(tile + step, 0);
  }
  float* to = c.partials +
              (int64_t(blockIdx.x) * c.shares + share) * g.taps() * (g.k / g.joined) * g.s.filters;
#pragma unroll
  for (int u = 0; u < kUnits; ++u)
    if (int unit = begin + u * slots; unit < all)
      store_sums<kTiles>(g, sums[u], UnitPlace::of<kTiles>(g, unit), first, to);
}

struct WeightGradPlan {
  TileWeightGrad call;
  int tiles, units;  // kTiles, kUnits
  dim3 grid;
};

WeightGradPlan weight_grad_plan(const ConvShape& shape) {
  WeightGradPlan plan;
  TileGeometry& g = plan.call.g;
  g = tile_geometry(shape, TileUse::weight_grad);
  plan.tiles = g.n <= 16 ? 2 : 4;
  plan.units = plan.tiles == 2 ? 9 : 4;
  const int pieces = (g.n + plan.tiles * 8 - 1) / (plan.tiles * 8);
  int& units = plan.call.units;
  units = g.chunk * g.taps() * (g.k_padded / 16) * pieces;
  while (plan.call.shares * 2 * units <= kWarps) plan.call.shares *= 2;
  const int of_block = kWarps / plan.call.shares * plan.units;
  const int blocks = (units + of_block - 1) / of_block;
  const int of_processor = tile_shared_bytes(g, TileUse::weight_grad) <= kSharedOfTwo ? 2 : 1;
  int across = std::max(1, 132 * of_processor / (g.chunks() * blocks));
  // Partial sums are read again: no more of them than a quarter of what the tiles are.
  const int64_t weights = int64_t(g.taps()) * (g.k / g.joined) * g.s.filters * plan.call.shares;
  const int64_t moved = int64_t(g.tiles()) * kTilePixels * (g.s.channels + g.s.filters);
  across = int(std::clamp<int64_t>(moved / 8 / weights, std::min(across, 16), across));
  const int rounds = (g.tiles() + across - 1) / across;
  plan.grid =
      dim3(unsigned((g.tiles() + rounds - 1) / rounds), unsigned(g.chunks()), unsigned(blocks));
  return plan;
}

}  // namespace

int tile_conv_splits(const ConvShape& shape) {
  WeightGradPlan plan = weight_grad_plan(shape);
  return int(plan.grid.x) * plan.call.shares;
}

void run_tile_conv_partials(const DirectConv& call, cudaStream_t stream) {
  WeightGradPlan plan = weight_grad_plan(call.shape);
  plan.call.x = call.x;
  plan.call.dy = call.dy;
  plan.call.partials = call.partials;
  const size_t shared = tile_shared_bytes(plan.call.g, TileUse::weight_grad);
  visit_half(call.dtype, [&]<class T>(T) {
    auto kernel = plan.tiles == 2 ? tile_conv_weight_grad<T, 2, 9> : tile_conv_weight_grad<T, 4, 4>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)),
          "shared memory of tile_conv_weight_grad");
    kernel<<<plan.grid, kBlock, shared, stream>>>(plan.call);
  });
  check_launch("tile_conv_weight_grad");
}

}  // namespace stoker::cuda
