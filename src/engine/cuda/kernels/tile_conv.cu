#include "engine/cuda/kernels/tile_conv.h"

#include "engine/cuda/kernels/tile_conv.cuh"

namespace stoker::cuda {

namespace {

struct TileConv {
  TileGeometry g;
  const void *x = nullptr, *w = nullptr, *bias = nullptr;
  void* out = nullptr;
  bool turned = false;    // w: [taps][n][k], the last tap first; else [taps][k][n]
  int weight_vector = 4;  // bytes of w that are moved at once
  bool relu = false, wide = false;
  float ceiling = std::numeric_limits<float>::infinity();
};

// Numbers of a line of weights in shared memory: k lines of n, or turned n lines of k.
template <bool kTurned>
__device__ inline int weight_pitch(const TileGeometry& g) {
  return (kTurned ? g.k_padded : g.n_padded) + 8;
}

// Weights of a block's groups, [group][tap][line], into shared memory that was zeroed.
template <int kBytes, bool kTurned>
__device__ inline void load_weights(const TileConv& c, int first, int groups, uint16_t* to) {
  constexpr int kEach = kBytes / 2;
  const TileGeometry& g = c.g;
  const int lines = kTurned ? g.n : g.k, length = (kTurned ? g.k : g.n) / g.joined;
  const int each = lines / g.joined, row = length * g.joined * g.groups, vectors = length / kEach;
  // Items in order: vectors of a line, lines of a tap, taps of a group; `step` items further on each
  // of the three moves by a fixed amount and a carry.
  const int matrices = groups * g.taps();
  int vector = int(threadIdx.x) % vectors, above = int(threadIdx.x) / vectors;
  int line = above % lines, matrix = above / lines;
  const int vector_step = kBlock % vectors, line_step = kBlock / vectors % lines;
  const int matrix_step = kBlock / vectors / lines;
  while (matrix < matrices) {
    const int tap = matrix % g.taps(), group = matrix / g.taps(), part = line / each;
    const int from_tap = kTurned ? g.taps() - 1 - tap : tap;
    copy_async<kBytes>(
        to + matrix * g.matrix() + line * weight_pitch<kTurned>(g) + part * length + vector * kEach,
        static_cast<const uint16_t*>(c.w) + int64_t(from_tap * each + line - part * each) * row +
            ((first + group) * g.joined + part) * length + vector * kEach,
        true);
    vector += vector_step;
    line += line_step;
    matrix += matrix_step;
    if (vector >= vectors) vector -= vectors, ++line;
    if (line >= lines) line -= lines, ++matrix;
  }
}

// Lane q of four gets word q of all four.
__device__ inline void turn_words(uint32_t (&words)[4]) {
  const int lane = int(threadIdx.x);
  auto exchange = [&](uint32_t& low, uint32_t& high, int bit) {
    const bool upper = (lane & bit) != 0;
    const uint32_t other = __shfl_xor_sync(~0U, upper ? low : high, bit);
    (upper ? low : high) = other;
  };
  exchange(words[0], words[1], 1);
  exchange(words[2], words[3], 1);
  exchange(words[0], words[2], 2);
  exchange(words[1], words[3], 2);
}

// Where a warp's results go: four lines of eight pixels.
struct TileResults {
  int rows[4], columns[4], offsets[4];  // within the tile; offsets in numbers of the result

  __device__ TileResults(const TileGeometry& g, int first_pixel) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int pixel = first_pixel + i * 8 + int(threadIdx.x) % 32 / 4;
      rows[i] = pixel / g.tile_x;
      columns[i] = pixel % g.tile_x;
      offsets[i] = (rows[i] * g.s.out_width + columns[i]) * g.s.filters;
    }
  }
  __device__ bool is_there(const TileGeometry& g, const TilePlace& at, int i) const {
    return at.row + rows[i] < g.s.out_height && at.column + columns[i] < g.s.out_width;
  }
};

template <class T>
__device__ inline void finish_sums(const TileConv& c, float* pair, int filter) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (c.bias != nullptr) pair[i] += to_float(static_cast<const T*>(c.bias)[filter + i]);
    if (c.relu) pair[i] = pair[i] < 0 ? 0 : pair[i] > c.ceiling ? c.ceiling : pair[i];
  }
}

// A warp's sums of 32 pixels by kTiles · 8 columns, `columns` of which exist; `origin`: of the tile's
// first pixel, at the first column.
template <class T, int kTiles>
__device__ inline void store_sums(const TileConv& c, float (&sums)[2][kTiles][4],
                                  const TileResults& results, const TilePlace& at, int filter,
                                  int columns, int64_t origin) {
  const int lane = int(threadIdx.x) % 4;
  if (c.bias != nullptr || c.relu)
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
        if (j * 8 + lane * 2 < columns)
          finish_sums<T>(c, sums[i / 2][j] + i % 2 * 2, filter + j * 8 + lane * 2);
  if (!c.wide && c.g.out_vector == 16 && columns == kTiles * 8) {
    // Sixteen bytes of one pixel per thread: all tiles of a line, or both of two lines.
    constexpr int kLines = 4 / kTiles;
#pragma unroll
    for (int i = 0; i < 4; i += kLines) {
      uint32_t words[4];
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const float* pair = sums[i / 2][word % kTiles] + (i + word / kTiles) % 2 * 2;
        words[word] = pack_pair<T>(pair[0], pair[1]);
      }
      turn_words(words);
      const bool upper = kLines == 2 && lane >= 2;
      const bool there =
          kLines == 2 ? (upper ? results.is_there(c.g, at, i + 1) : results.is_there(c.g, at, i))
                      : results.is_there(c.g, at, i);
      const int offset = upper ? results.offsets[i + kLines - 1] : results.offsets[i];
      if (there)
        *reinterpret_cast<uint4*>(static_cast<T*>(c.out) + origin + offset + lane % kTiles * 8) =
            make_uint4(words[0], words[1], words[2], words[3]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (!results.is_there(c.g, at, i)) continue;
    const int64_t to = origin + results.offsets[i] + lane * 2;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      if (j * 8 + lane * 2 >= columns) continue;
      const float* pair = sums[i / 2][j] + i % 2 * 2;
      if (c.wide)
        *reinterpret_cast<float2*>(static_cast<float*>(c.out) + to + j * 8) =
            make_float2(pair[0], pair[1]);
      else
        *reinterpret_cast<uint32_t*>(static_cast<T*>(c.out) + to + j * 8) =
            pack_pair<T>(pair[0], pair[1]);
    }
  }
}

// Four quarters of a tile's pixels by two halves of the columns: a warp each.
template <class T, int kTiles, bool kTurned>
__global__ void __launch_bounds__(kBlock, 2) tile_conv(const __grid_constant__ TileConv c) {
  extern __shared__ __align__(128) char shared[];
  const TileGeometry& g = c.g;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int first = int(blockIdx.y) * g.chunk, groups = min(g.chunk, g.groups - first);
  const int tile_size = g.in_pixels() * g.pitch, pitch = weight_pitch<kTurned>(g);
  T* weights = reinterpret_cast<T*>(shared);
  T* image = weights + g.chunk * g.taps() * g.matrix();
  clear_shared(shared, int(product_shared_bytes(g)));
  __syncthreads();
  const int step = int(gridDim.x);
  int tile = int(blockIdx.x), buffer = 0;
  const ImageTiles tiles(g, first, groups);
  tiles.load(g, c.x, TilePlace(g, tile), image);
  auto* target = reinterpret_cast<uint16_t*>(weights);
  if (c.weight_vector == 16)
    load_weights<16, kTurned>(c, first, groups, target);
  else if (c.weight_vector == 8)
    load_weights<8, kTurned>(c, first, groups, target);
  else
    load_weights<4, kTurned>(c, first, groups, target);
  end_copies();
  const int quarter = warp % 4 * 32;
  int base[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int pixel = quarter + half * 16 + lane % 16;
    base[half] =
        (pixel / g.tile_x * g.s.stride_y * g.in_x + pixel % g.tile_x * g.s.stride_x) * g.pitch +
        lane / 16 * 8;
  }
  // Of a step of 16 by 16 weights: halves of k first, then of n.
  const int weight_row = kTurned ? (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8
                                 : lane % 16 * pitch + lane / 16 * 8;
  const TileResults results(g, quarter);
  const int pieces = (g.n + kTiles * 8 - 1) / (kTiles * 8);
  for (; tile < g.tiles(); tile += step) {
    const bool more = tile + step < g.tiles();
    if (g.buffers == 2) {
      if (more) tiles.load(g, c.x, TilePlace(g, tile + step), image + (1 - buffer) * tile_size);
      end_copies();
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    const T* pixels = image + buffer * tile_size;
    const TilePlace at(g, tile);
    const int64_t place =
        ((int64_t(at.image) * g.s.out_height + at.row) * g.s.out_width + at.column) * g.s.filters +
        first * g.n;
    for (int unit = warp / 4; unit < groups * pieces; unit += 2) {
      const int group = pieces == 1 ? unit : unit / pieces;
      const int column = (unit - group * pieces) * kTiles * 8;
      const int columns = min(kTiles * 8, g.n - column), real = (columns + 7) / 8;
      float sums[2][kTiles][4] = {};
      const T* taps = weights + group * g.taps() * g.matrix() + weight_row +
                      (kTurned ? column * pitch : column);
      const T* from = pixels + group * g.k_padded;
      for (int tap_y = 0; tap_y < g.s.kernel_y; ++tap_y)
        for (int tap_x = 0; tap_x < g.s.kernel_x; ++tap_x, taps += g.matrix()) {
          const T* shifted =
              from + (tap_y * g.s.dilation_y * g.in_x + tap_x * g.s.dilation_x) * g.pitch;
          for (int k = 0; k < g.k_padded; k += 16) {
            unsigned a[2][4], b[kTiles / 2][4] = {};
            load_matrices(a[0], shifted + base[0] + k);
            load_matrices(a[1], shifted + base[1] + k);
#pragma unroll
            for (int j = 0; j < kTiles / 2; ++j) {
              if (j * 2 >= real) continue;
              if constexpr (kTurned)
                load_matrices(b[j], taps + j * 16 * pitch + k);
              else
                load_turned_matrices(b[j], taps + j * 16 + k * pitch);
            }
#pragma unroll
            for (int j = 0; j < kTiles; ++j)
              if (j < real) {
                multiply<T>(sums[0][j], a[0], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
                multiply<T>(sums[1][j], a[1], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
              }
          }
        }
      const int filter = group * g.n + column;
      store_sums<T, kTiles>(c, sums, results, at, first * g.n + filter, columns, place + filter);
    }
    __syncthreads();
    if (g.buffers == 2) {
      buffer = 1 - buffer;
    } else if (more) {
      tiles.load(g, c.x, TilePlace(g, tile + step), image);
      end_copies();
    }
  }
}

void run(TileConv call, DType dtype, cudaStream_t stream) {
  const TileGeometry& g = call.g;
  const int line = (call.turned ? g.k : g.n) / g.joined;
  call.weight_vector = bytes_at_once(line, line * g.s.groups);
  const int shared = int(tile_shared_bytes(g, TileUse::product));
  const int of_processor = shared <= kSharedOfTwo ? 2 : 1;
  const int columns = std::max(1, 132 * of_processor / g.chunks());
  // Every block has as many tiles as the others, or one less.
  const int rounds = (g.tiles() + columns - 1) / columns;
  const dim3 grid(unsigned((g.tiles() + rounds - 1) / rounds), unsigned(g.chunks()));
  visit_half(dtype, [&]<class T>(T) {
    auto kernel = call.turned ? (g.n <= 16 ? tile_conv<T, 2, true> : tile_conv<T, 4, true>)
                              : (g.n <= 16 ? tile_conv<T, 2, false> : tile_conv<T, 4, false>);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostShared),
          "shared memory of tile_conv");
    kernel<<<grid, kBlock, size_t(shared), stream>>>(call);
  });
  check_launch("tile_conv");
}

}  // namespace

void run_tile_conv(const DirectConv& call, cudaStream_t stream) {
  TileConv conv{.g = tile_geometry(call.shape, TileUse::product),
                .x = call.x,
                .w = call.w,
                .bias = call.bias,
                .out = call.out,
                .relu = call.relu,
                .wide = call.wide,
                .ceiling = call.ceiling};
  run(conv, call.dtype, stream);
}

void run_tile_conv_input_grad(const DirectConv& call, cudaStream_t stream) {
  TileConv conv{.g = tile_geometry(turned_shape(call.shape), TileUse::product),
                .x = call.dy,
                .w = call.w,
                .out = call.out,
                .turned = true};
  run(conv, call.dtype, stream);
}

}  // namespace stoker::cuda
