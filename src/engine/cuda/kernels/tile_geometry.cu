// How tile_conv.h cuts convolutions, and which ones it takes.
#include "engine/cuda/kernels/tile_conv.cuh"
#include "engine/cuda/kernels/tile_conv.h"

namespace stoker::cuda {

namespace {

// The tile that leaves the least of itself empty.
void choose_tile(TileGeometry& g) {
  const ConvShape& s = g.s;
  int64_t least = 0;
  for (auto [rows, columns] : {std::pair(1, 128), {2, 64}, {4, 32}, {8, 16}, {16, 8}}) {
    if (s.kernel_y * s.kernel_x > 1 && rows < 4) continue;
    int down = (s.out_height + rows - 1) / rows, across = (s.out_width + columns - 1) / columns;
    int in_y = (rows - 1) * s.stride_y + (s.kernel_y - 1) * s.dilation_y + 1;
    int in_x = (columns - 1) * s.stride_x + (s.kernel_x - 1) * s.dilation_x + 1;
    int64_t read = int64_t(down) * across * (in_y * in_x + kTilePixels);
    if (least != 0 && read >= least) continue;
    least = read;
    g.tile_y = rows, g.tile_x = columns, g.tiles_y = down, g.tiles_x = across;
    g.in_y = in_y, g.in_x = in_x;
  }
}

}  // namespace

size_t tile_shared_bytes(const TileGeometry& g, TileUse use) {
  if (use == TileUse::product) return size_t(product_shared_bytes(g));
  return size_t(g.buffers) * size_t(g.in_pixels() * g.pitch + kTilePixels * g.out_pitch) * 2;
}

TileGeometry tile_geometry(const ConvShape& shape, TileUse use) {
  TileGeometry g;
  g.s = shape;
  ConvShape& s = g.s;
  if (is_pixel_product(s)) {
    s.width = s.out_width = s.batch * s.height * s.width;
    s.batch = s.height = s.out_height = 1;
  }
  int channels = s.channels / s.groups, filters = s.filters / s.groups;
  while (2 * g.joined * channels <= 16 && s.groups % (2 * g.joined) == 0) g.joined *= 2;
  g.k = g.joined * channels;
  g.n = g.joined * filters;
  g.k_padded = (g.k + 15) / 16 * 16;
  g.n_padded = (g.n + 15) / 16 * 16;
  g.groups = s.groups / g.joined;
  g.vector = bytes_at_once(s.channels, g.k);
  g.out_vector = bytes_at_once(s.filters, g.n);
  choose_tile(g);
  // As many groups per block as let two blocks share a multiprocessor; two tiles in flight if so.
  auto set = [&](int chunk, int buffers) {
    g.chunk = chunk;
    g.buffers = buffers;
    g.pitch = chunk * g.k_padded + 8;
    g.out_pitch = chunk * g.n_padded + 8;
  };
  constexpr int kEnoughChannels = 128;
  int most = std::clamp(kEnoughChannels / g.k, 1, g.groups);
  for (int chunk = most; chunk >= 1; --chunk)
    for (int buffers : {2, 1}) {
      // Blocks with equally many groups.
      const int blocks = (g.groups + chunk - 1) / chunk;
      set((g.groups + blocks - 1) / blocks, buffers);
      if (int64_t(tile_shared_bytes(g, use)) <= kSharedOfTwo) return g;
    }
  set(1, 1);
  return g;
}

ConvShape turned_shape(const ConvShape& s) {
  ConvShape t = s;
  t.height = s.out_height, t.width = s.out_width, t.channels = s.filters;
  t.out_height = s.height, t.out_width = s.width, t.filters = s.channels;
  t.top = (s.kernel_y - 1) * s.dilation_y - s.top;
  t.bottom = (s.kernel_y - 1) * s.dilation_y - s.bottom;
  t.left = (s.kernel_x - 1) * s.dilation_x - s.left;
  t.right = (s.kernel_x - 1) * s.dilation_x - s.right;
  return t;
}

namespace {

// What libraries are slow at: groups, unless sixteen channels of one fill a step of their kernels;
// 1×1 convolutions of channel counts that they would pad, or to a few filters. Kernels of several
// taps over one group are padded and left to them: they multiply more than they move.
bool is_wanted(const ConvShape& s) {
  const int channels = s.channels / s.groups, filters = s.filters / s.groups;
  const bool one_tap = s.kernel_y * s.kernel_x == 1;
  constexpr int kFew = 8;
  constexpr int64_t kManyRows = 16384;
  if (s.groups > 1) return channels > 1 && (one_tap || (channels | filters) % 16 != 0);
  if (!one_tap) return false;
  const bool few = filters <= kFew && int64_t(s.batch) * s.out_height * s.out_width >= kManyRows;
  return (s.channels | s.filters) % 8 != 0 || few;
}

bool applies(const ConvShape& s, DType dtype) {
  const int channels = s.channels / s.groups, filters = s.filters / s.groups;
  const int64_t pixels = int64_t(s.batch) * s.height * s.width;
  constexpr int kMostTaps = 25, kMostChannels = 256, kMostPixels = 1 << 30, kLongest = 1 << 20;
  if (dtype == DType::float32 || !is_wanted(s) || s.out_height * s.out_width == 0) return false;
  return channels % 2 == 0 && filters % 2 == 0 && s.kernel_y * s.kernel_x <= kMostTaps &&
         std::max(channels, filters) <= kMostChannels && std::max(s.height, s.width) < kLongest &&
         pixels > 0 && pixels < kMostPixels;
}

bool fits(const TileGeometry& g, TileUse use) {
  return int64_t(tile_shared_bytes(g, use)) <= kMostShared;
}

}  // namespace

bool is_tile_conv(const ConvShape& s, DType dtype) {
  return applies(s, dtype) && fits(tile_geometry(s, TileUse::product), TileUse::product) &&
         fits(tile_geometry(s, TileUse::weight_grad), TileUse::weight_grad);
}

bool is_tile_conv_input_grad(const ConvShape& s, DType dtype) {
  if (!applies(s, dtype) || s.stride_y != 1 || s.stride_x != 1) return false;
  return fits(tile_geometry(turned_shape(s), TileUse::product), TileUse::product);
}

}  // namespace stoker::cuda
