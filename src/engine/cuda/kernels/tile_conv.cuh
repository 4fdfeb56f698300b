// How tile_conv.h cuts a convolution: a block has some groups of the channels and walks over tiles
// of the image. Narrow groups are joined until sixteen channels are one step of the tensor cores;
// what is then multiplied across groups is zero among the weights.
#pragma once

#include "engine/cuda/kernels/direct_conv.h"
#include "engine/cuda/kernels/tensor_cores.cuh"

namespace stoker::cuda {

constexpr int kTilePixels = 128;  // of the result, in one tile
constexpr int kTileColumns = 32;  // of the result, that a warp makes at once

struct TileGeometry {
  ConvShape s;  // 1×1 convolutions: one image of one row
  int joined = 1;
  int k = 0, n = 0;                // channels and filters of joined groups
  int k_padded = 0, n_padded = 0;  // multiples of 16
  int groups = 1, chunk = 1;       // joined groups in all, and of a block
  int tile_y = 1, tile_x = kTilePixels, tiles_y = 1, tiles_x = 1;  // tile_x: a power of two
  int in_y = 1, in_x = 1;                                          // pixels of x that a tile needs
  int pitch = 0, out_pitch = 0;    // of a pixel of x and of y in shared memory, in numbers
  int vector = 4, out_vector = 4;  // bytes of x and of y that are moved at once
  int buffers = 1;                 // tiles in flight

  __host__ __device__ int taps() const { return s.kernel_y * s.kernel_x; }
  __host__ __device__ int tiles() const { return s.batch * tiles_y * tiles_x; }
  __host__ __device__ int in_pixels() const { return in_y * in_x; }
  __host__ __device__ int chunks() const { return (groups + chunk - 1) / chunk; }
  // Numbers of a tap's weights in shared memory, whichever way they lie.
  __host__ __device__ int matrix() const {
    const int lines = k_padded > n_padded ? k_padded : n_padded;
    return lines * ((k_padded < n_padded ? k_padded : n_padded) + 8);
  }
};

// Shared memory: of a block, and of each of two that share a multiprocessor.
constexpr int kMostShared = 220 * 1024, kSharedOfTwo = 112 * 1024;

// Weights and tiles of the image.
__host__ __device__ inline int64_t product_shared_bytes(const TileGeometry& g) {
  return 2 *
         (int64_t(g.chunk) * g.taps() * g.matrix() + int64_t(g.buffers) * g.in_pixels() * g.pitch);
}

// That may be moved at once where pixels and groups have so many numbers.
inline int bytes_at_once(int a, int b) { return (a | b) % 8 == 0 ? 16 : (a | b) % 4 == 0 ? 8 : 4; }

// Where a tile lies in the result.
struct TilePlace {
  int image, row, column;
  __device__ TilePlace(const TileGeometry& g, int tile) {
    column = tile % g.tiles_x * g.tile_x;
    row = tile / g.tiles_x % g.tiles_y * g.tile_y;
    image = tile / g.tiles_x / g.tiles_y;
  }
};

__device__ inline unsigned shared_address(const void* at) {
  return unsigned(__cvta_generic_to_shared(at));
}

// Zeros where `there` is false.
template <int kBytes>
__device__ inline void copy_async(void* to, const void* from, bool there) {
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(there ? 16 : 0));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
                 "l"(from), "n"(kBytes), "r"(there ? kBytes : 0));
}
__device__ inline void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

__device__ inline void load_matrices(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row)));
}
__device__ inline void load_turned_matrices(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row)));
}

// A rectangle of pixels [rows, columns] by some groups of channels, from an image into shared memory,
// where groups begin every `padded` numbers. Threads stand side by side along a pixel and walk over
// the rectangle, the same way for every tile.
struct TileCopy {
  int height, width, channels;  // of the image
  int columns, pitch;           // of the rectangle: its width, and a pixel in shared memory
  int pixels, step;             // in all, and that are moved at once
  int first, row, column;       // this thread's first pixel
  int step_rows, step_columns;  // `step` pixels further
  int from_channel, to_channel;
  bool active;

  __device__ TileCopy(int image_height, int image_width, int image_channels, int tile_rows,
                      int tile_columns, int tile_pitch)
      : height(image_height),
        width(image_width),
        channels(image_channels),
        columns(tile_columns),
        pitch(tile_pitch),
        pixels(tile_rows * tile_columns) {}

  // `bytes` at a time of `groups` groups of `group` channels.
  __device__ void set_channels(int first_channel, int group, int padded, int groups, int bytes) {
    const int each = bytes / 2, per_group = group / each, per_pixel = per_group * groups;
    const int part = int(threadIdx.x) % per_pixel;
    step = int(blockDim.x) / per_pixel;
    first = int(threadIdx.x) / per_pixel;
    active = first < step;
    row = first / columns, column = first % columns;
    step_rows = step / columns, step_columns = step % columns;
    from_channel = first_channel + part * each;
    to_channel = part / per_group * padded + part % per_group * each;
  }

  // Of the image at `from`, whose pixel (top, left) is the rectangle's first; zeros outside.
  template <int kBytes>
  __device__ void run_in(const uint16_t* from, int top, int left, uint16_t* to) const {
    if (!active) return;
    const uint16_t* origin = from + (int64_t(top) * width + left) * channels + from_channel;
    uint16_t* target = to + first * pitch + to_channel;
    int r = row, c = column;
    for (int pixel = first; pixel < pixels; pixel += step) {
      const bool there = top + r >= 0 && top + r < height && left + c >= 0 && left + c < width;
      copy_async<kBytes>(target, there ? origin + (r * width + c) * channels : from, there);
      target += step * pitch;
      r += step_rows;
      c += step_columns;
      if (c >= columns) c -= columns, ++r;
    }
  }
  __device__ void run(const void* from, int top, int left, int bytes, void* to) const {
    const auto* source = static_cast<const uint16_t*>(from);
    auto* target = static_cast<uint16_t*>(to);
    if (bytes == 16)
      run_in<16>(source, top, left, target);
    else if (bytes == 8)
      run_in<8>(source, top, left, target);
    else
      run_in<4>(source, top, left, target);
  }
};

// x of a block's groups, from `first` on.
struct ImageTiles {
  TileCopy copy;
  __device__ ImageTiles(const TileGeometry& g, int first, int groups)
      : copy(g.s.height, g.s.width, g.s.channels, g.in_y, g.in_x, g.pitch) {
    copy.set_channels(first * g.k, g.k, g.k_padded, groups, g.vector);
  }
  __device__ void load(const TileGeometry& g, const void* x, const TilePlace& at, void* to) const {
    copy.run(
        static_cast<const uint16_t*>(x) + int64_t(at.image) * g.s.height * g.s.width * g.s.channels,
        at.row * g.s.stride_y - g.s.top, at.column * g.s.stride_x - g.s.left, g.vector, to);
  }
};

__device__ inline void clear_shared(void* memory, int bytes) {
  for (int at = int(threadIdx.x) * 16; at < bytes; at += int(blockDim.x) * 16)
    *reinterpret_cast<uint4*>(static_cast<char*>(memory) + at) = make_uint4(0, 0, 0, 0);
}

// Of the forward convolution, or of what makes its input gradient: x and y change places there.
enum class TileUse : uint8_t { product, weight_grad };
TileGeometry tile_geometry(const ConvShape& shape, TileUse use);
size_t tile_shared_bytes(const TileGeometry& geometry, TileUse use);
// The convolution of dy that gives dx, its kernel turned; stride 1.
ConvShape turned_shape(const ConvShape& shape);

}  // namespace stoker::cuda
