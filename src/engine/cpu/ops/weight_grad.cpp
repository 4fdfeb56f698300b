#include "engine/cpu/ops/weight_grad.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/conv2d.h"

namespace stoker::cpu {

Part taps_inside(int64_t begin, int64_t end, int64_t extent, int64_t stride, int64_t offset) {
  int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  int64_t last = extent - offset <= 0 ? 0 : (extent - offset - 1) / stride + 1;
  return {std::max(begin, first), std::min(end, last)};
}

WeightGradShape::WeightGradShape(const Attrs& attrs, const Shape& x, const Shape& dy)
    : batch(x[0]),
      height(x[1]),
      width(x[2]),
      channels(x[3]),
      out_height(dy[1]),
      out_width(dy[2]),
      filters(dy[3]) {
  const Ints &kernel = attrs.get<Ints>("kernel"), &strides = attrs.get<Ints>("strides"),
             &pads = attrs.get<Ints>("pads");
  Ints dilation = attrs.get_or<Ints>("dilation", {1, 1});
  kernel_h = kernel[0], kernel_w = kernel[1], stride_h = strides[0], stride_w = strides[1];
  top = pads[0], left = pads[2], dilation_h = dilation[0], dilation_w = dilation[1];
}

int64_t WeightGradShape::band_of(int64_t most) const {
  most = std::max<int64_t>(1, most);
  int64_t bands = (out_height + most - 1) / most;
  return (out_height + bands - 1) / bands;
}

TapPart::TapPart(const WeightGradShape& g, int64_t tap, int64_t begin, int64_t end) {
  int64_t down = tap / g.kernel_w * g.dilation_h - g.top,
          right = tap % g.kernel_w * g.dilation_w - g.left;
  rows = taps_inside(begin, end, g.height, g.stride_h, down);
  columns = taps_inside(0, g.out_width, g.width, g.stride_w, right);
  first = (rows.begin * g.stride_h + down) * g.width + columns.begin * g.stride_w + right;
}

namespace {

// Bytes of packed dy that are worked on at a time, to stay in the first-level cache beside x.
constexpr int64_t kBandBytes = 32 << 10;
// Sums above this size are divided among the workers; smaller ones each of them has for itself.
constexpr int64_t kSharedSums = 512 << 10;

struct TiledWeightGrad : WeightGradShape {
  int64_t tile_c = kernels().tile_channels, tile_f = kernels().tile_filters;
  int64_t channel_tiles, filter_tiles, band;

  TiledWeightGrad(const Attrs& attrs, const Shape& x, const Shape& dy)
      : WeightGradShape(attrs, x, dy),
        channel_tiles((channels + tile_c - 1) / tile_c),
        filter_tiles((filters + tile_f - 1) / tile_f),
        band(band_of(kBandBytes / int64_t(sizeof(float)) / (out_width * tile_f))) {}

  int64_t tile_sums() const { return tile_c * tile_f; }
  int64_t sums_of_filter_tile() const { return channel_tiles * taps() * tile_sums(); }
  int64_t sums() const { return filter_tiles * sums_of_filter_tile(); }
  int64_t packed_x() const { return channel_tiles * tile_c * height * width; }
  int64_t packed_dy() const { return band * out_width * tile_f; }
};

// x of one image: [H, W, C] → [tiles][H, W][tile_c], with zeros behind the last channel
void pack_x(const TiledWeightGrad& g, const float* x, float* packed) {
  int64_t pixels = g.height * g.width;
  for (int64_t tile = 0; tile < g.channel_tiles; ++tile) {
    int64_t used = std::min(g.tile_c, g.channels - tile * g.tile_c);
    const float* from = x + tile * g.tile_c;
    for (int64_t pixel = 0; pixel < pixels; ++pixel, from += g.channels, packed += g.tile_c) {
      for (int64_t c = 0; c < used; ++c) packed[c] = from[c];
      for (int64_t c = used; c < g.tile_c; ++c) packed[c] = 0;
    }
  }
}

// Pixels of dy from a tile of filters on: [pixels, filters] → [pixels, tile_f]
void pack_dy(const TiledWeightGrad& g, const float* dy, int64_t pixels, int64_t used,
             float* packed) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel, dy += g.filters, packed += g.tile_f) {
    std::memcpy(packed, dy, size_t(used) * sizeof(float));
    std::memset(packed + used, 0, size_t(g.tile_f - used) * sizeof(float));
  }
}

// All taps and channels of one filter tile, for rows [begin, end) of dy.
void add_band(const TiledWeightGrad& g, const float* x, const float* dy, int64_t begin, int64_t end,
              float* sums) {
  for (int64_t tile = 0; tile < g.channel_tiles; ++tile, x += g.height * g.width * g.tile_c)
    for (int64_t tap = 0; tap < g.taps(); ++tap, sums += g.tile_sums()) {
      TapPart part(g, tap, begin, end);
      if (part.is_empty()) continue;
      const float* from = x + part.first * g.tile_c;
      const float* with =
          dy + ((part.rows.begin - begin) * g.out_width + part.columns.begin) * g.tile_f;
      kernels().weight_grad_tile(from, g.stride_h * g.width * g.tile_c, g.stride_w * g.tile_c, with,
                                 g.out_width * g.tile_f, part.rows.end - part.rows.begin,
                                 part.columns.end - part.columns.begin, sums);
    }
}

// What one worker adds up: some images, some filter tiles.
struct Share {
  Part images, tiles;
};

void add_share(const TiledWeightGrad& g, const Share& share, const float* x, const float* dy,
               float* packed_x, float* packed_dy, float* sums, float* bias) {
  int64_t image = g.out_height * g.out_width * g.filters;
  for (int64_t i = share.images.begin; i < share.images.end; ++i) {
    pack_x(g, x + i * g.height * g.width * g.channels, packed_x);
    for (int64_t row = 0; row < g.out_height; row += g.band) {
      int64_t end = std::min(row + g.band, g.out_height), pixels = (end - row) * g.out_width;
      for (int64_t tile = share.tiles.begin; tile < share.tiles.end; ++tile) {
        int64_t used = std::min(g.tile_f, g.filters - tile * g.tile_f);
        pack_dy(g, dy + i * image + row * g.out_width * g.filters + tile * g.tile_f, pixels, used,
                packed_dy);
        add_band(g, packed_x, packed_dy, row, end, sums + tile * g.sums_of_filter_tile());
        if (bias == nullptr) continue;
        float column[KernelTable::kColumns];
        kernels().fold_columns[kSum](packed_dy, column, pixels, g.tile_f, g.tile_f);
        for (int64_t f = 0; f < used; ++f) bias[tile * g.tile_f + f] += column[f];
      }
    }
  }
}

// [filter tile][channel tile][tap][tile_c, tile_f] → dw: [taps, C, filters]
void unpack(const TiledWeightGrad& g, const float* sums, float* dw) {
  for (int64_t f = 0; f < g.filter_tiles; ++f)
    for (int64_t c = 0; c < g.channel_tiles; ++c)
      for (int64_t tap = 0; tap < g.taps(); ++tap, sums += g.tile_sums()) {
        int64_t used = std::min(g.tile_f, g.filters - f * g.tile_f);
        int64_t rows = std::min(g.tile_c, g.channels - c * g.tile_c);
        for (int64_t row = 0; row < rows; ++row)
          std::memcpy(dw + (tap * g.channels + c * g.tile_c + row) * g.filters + f * g.tile_f,
                      sums + row * g.tile_f, size_t(used) * sizeof(float));
      }
}

// With stride 2 oneDNN's kernel reaches half of this one's rate. With stride 1 they are equal, but
// for several tiles of filters whose sums stay in the second-level cache (15 % faster at 64→128,
// 13×13).
bool pays(const TiledWeightGrad& g, int64_t groups) {
  bool strided = g.stride_h > 1 || g.stride_w > 1;
  bool cached = g.filter_tiles > 1 && g.sums() * int64_t(sizeof(float)) <= kSharedSums;
  return convolves_channels_last() && kernels().lanes == 16 && groups == 1 && g.taps() > 1 &&
         g.channels >= 16 && g.filters >= 48 && (strided || cached);
}

}  // namespace

// x: [B, H, W, C], dy: [B, H', W', filters] → dw: [kh, kw, C, filters] [, db: [filters]]
bool build_tiled_weight_grad(Builder& b, const Node& node) {
  TiledWeightGrad g(node.attrs, b.shape(node.inputs[0]), b.shape(node.inputs[1]));
  if (!pays(g, node.attrs.get_or<int64_t>("groups", 1))) return false;
  int x = b.plain(node.inputs[0]), dy = b.plain(node.inputs[1]), dw = b.define(node.outputs[0]);
  bool with_bias = node.outputs.size() > 1;
  int workers = team_size();
  // Each worker takes images and has sums of its own, or takes filters of all images.
  bool by_filters = g.filter_tiles >= workers && g.sums() * int64_t(sizeof(float)) > kSharedSums;
  int64_t copies = by_filters ? 1 : workers, padded = g.filter_tiles * g.tile_f;
  auto floats = [](int64_t count) { return size_t(count) * sizeof(float); };
  int db = with_bias ? b.define(node.outputs[1]) : b.scratch(floats(g.filters));
  int sums = b.scratch(floats(copies * (g.sums() + padded)));
  int packed = b.scratch(floats(workers * (g.packed_x() + g.packed_dy())));
  b.emit({own_kernel() + ":tiled", {x, dy}, {dw, db, sums, packed}}, [=](Pointers p) {
    int64_t each = g.sums() + padded;
    float* all = p.out<float>(4);
    parallel_team(g.work(), kGrain, [&](int worker, int team) {
      Share share = by_filters ? Share{{0, g.batch}, part_of(g.filter_tiles, worker, team)}
                               : Share{part_of(g.batch, worker, team), {0, g.filter_tiles}};
      float* mine = all + (by_filters ? 0 : worker * each);
      float* space = p.out<float>(5) + worker * (g.packed_x() + g.packed_dy());
      Part tiles = share.tiles;
      std::memset(mine + tiles.begin * g.sums_of_filter_tile(), 0,
                  floats((tiles.end - tiles.begin) * g.sums_of_filter_tile()));
      std::memset(mine + g.sums() + tiles.begin * g.tile_f, 0,
                  floats((tiles.end - tiles.begin) * g.tile_f));
      add_share(g, share, p.in<float>(0), p.in<float>(1), space, space + g.packed_x(), mine,
                with_bias ? mine + g.sums() : nullptr);
    });
    // A small step runs on one thread: the others' sums were not touched.
    int64_t used = by_filters || g.work() < 2 * kGrain ? 1 : workers;
    parallel_for(
        each, kGrain,
        [&](int64_t begin, int64_t end) {
          for (int64_t worker = 1; worker < used; ++worker)
            for (int64_t i = begin; i < end; ++i) all[i] += all[worker * each + i];
        },
        16);
    unpack(g, all, p.out<float>(2));
    std::memcpy(p.out<float>(3), all + g.sums(), floats(g.filters));
  });
  return true;
}

}  // namespace stoker::cpu
