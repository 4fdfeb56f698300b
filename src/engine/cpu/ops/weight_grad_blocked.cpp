#include <algorithm>
#include <cstring>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/conv2d.h"
#include "engine/cpu/ops/weight_grad.h"

namespace stoker::cpu {

namespace {

constexpr int64_t kBlock = 8, kHalf = 4, kMostBlocks = 3;
// Pixels that are worked on at a time: their dy stays in the first-level cache.
constexpr int64_t kBandPixels = 160;

struct BlockedWeightGrad : WeightGradShape {
  int64_t band;

  BlockedWeightGrad(const Attrs& attrs, const Shape& x, const Shape& dy)
      : WeightGradShape(attrs, x, dy), band(band_of(kBandPixels / out_width)) {}

  int64_t channel_blocks() const { return channels / kBlock; }
  int64_t filter_blocks() const { return filters / kBlock; }
  int64_t x_block() const { return height * width * kBlock; }
  int64_t dy_block() const { return out_height * out_width * kBlock; }
  int64_t sum_block() const { return channels * taps() * kBlock; }  // of one block of filters
  int64_t sums() const { return filter_blocks() * sum_block(); }
  WeightGradBlocks strides() const {
    return {stride_h * width * kBlock, stride_w * kBlock, out_width * kBlock, dy_block(),
            sum_block()};
  }
};

// All taps and channels of `used` blocks of filters, for rows [begin, end) of dy of one image.
void add_band(const BlockedWeightGrad& g, const float* x, const float* dy, int64_t begin,
              int64_t end, int64_t used, float* sums) {
  auto kernel = kernels().weight_grad_blocks[used - 2];
  WeightGradBlocks strides = g.strides();
  for (int64_t block = 0; block < g.channel_blocks(); ++block, x += g.x_block())
    for (int64_t tap = 0; tap < g.taps(); ++tap, sums += kBlock * kBlock) {
      TapPart part(g, tap, begin, end);
      if (part.is_empty()) continue;
      const float* from = x + part.first * kBlock;
      const float* with = dy + (part.rows.begin * g.out_width + part.columns.begin) * kBlock;
      for (int64_t half = 0; half < kBlock; half += kHalf)
        kernel(from + half, with, strides, part.rows.end - part.rows.begin,
               part.columns.end - part.columns.begin, sums + half * kBlock);
    }
}

void add_bias(const BlockedWeightGrad& g, const float* dy, float* bias) {
  for (int64_t block = 0; block < g.filter_blocks(); ++block, dy += g.dy_block()) {
    float column[kBlock];
    kernels().fold_columns[kSum](dy, column, g.out_height * g.out_width, kBlock, kBlock);
    for (int64_t f = 0; f < kBlock; ++f) bias[block * kBlock + f] += column[f];
  }
}

// Images [part.begin, part.end) into sums: [filter block][channel block][tap][8 channels, 8
// filters], and into bias where there is one.
void add_images(const BlockedWeightGrad& g, Part part, const float* x, const float* dy, float* sums,
                float* bias) {
  std::memset(sums, 0, size_t(g.sums()) * sizeof(float));
  if (bias != nullptr) std::memset(bias, 0, size_t(g.filters) * sizeof(float));
  for (int64_t image = part.begin; image < part.end; ++image) {
    const float* of_x = x + image * g.channel_blocks() * g.x_block();
    const float* of_dy = dy + image * g.filter_blocks() * g.dy_block();
    for (int64_t row = 0; row < g.out_height; row += g.band)
      for (int64_t block = 0, used = 0; block < g.filter_blocks(); block += used) {
        // 8 blocks as 3 + 3 + 2, never with a single one at the end.
        int64_t left = g.filter_blocks() - block;
        used = left == 4 ? 2 : std::min(left, kMostBlocks);
        add_band(g, of_x, of_dy + block * g.dy_block(), row, std::min(row + g.band, g.out_height),
                 used, sums + block * g.sum_block());
      }
    if (bias != nullptr) add_bias(g, of_dy, bias);
  }
}

bool pays(const BlockedWeightGrad& g, int64_t groups) {
  return !convolves_channels_last() && kernels().lanes == 8 && groups == 1 && g.taps() > 1 &&
         g.channels % kBlock == 0 && g.filters % kBlock == 0 && g.filters >= 2 * kBlock &&
         g.out_width >= 4;
}

Layout in_blocks(const Shape& shape) {
  return {image_desc(shape), Desc({shape[0], shape[3], shape[1], shape[2]},
                                  dnnl::memory::data_type::f32, dnnl::memory::format_tag::nChw8c)};
}

}  // namespace

// x: [B, H, W, C], dy: [B, H', W', filters] → dw: [kh, kw, C, filters] [, db: [filters]]
bool build_blocked_weight_grad(Builder& b, const Node& node) {
  int x = node.inputs[0], dy = node.inputs[1], dw = node.outputs[0];
  BlockedWeightGrad g(node.attrs, b.shape(x), b.shape(dy));
  if (!pays(g, node.attrs.get_or<int64_t>("groups", 1))) return false;
  bool with_bias = node.outputs.size() > 1;
  int workers = team_size();
  Desc kernel = kernel_desc(b.shape(dw), 1);
  Layout layout(kernel, Desc(dims_of(kernel), dnnl::memory::data_type::f32,
                             dnnl::memory::format_tag::OIhw8i8o));
  auto floats = [](int64_t count) { return size_t(count) * sizeof(float); };
  int from = b.input(x, in_blocks(b.shape(x))), with = b.input(dy, in_blocks(b.shape(dy)));
  int to = b.define(dw, layout);
  int db = with_bias ? b.define(node.outputs[1]) : b.scratch(0);
  // The first worker adds up where the result is wanted.
  int64_t each = g.sums() + g.filters;
  int others = b.scratch(floats((workers - 1) * each));
  b.emit({own_kernel() + ":blocks", {from, with}, {to, db, others}}, [=](Pointers p) {
    int used = 1;
    float *sums = p.out<float>(2), *bias = with_bias ? p.out<float>(3) : nullptr,
          *rest = p.out<float>(4);
    parallel_team(g.work(), kGrain, [&](int worker, int team) {
      if (worker == 0) used = team;
      float* mine = worker == 0 ? sums : rest + (worker - 1) * each;
      float* my_bias = worker == 0 ? bias : mine + g.sums();
      add_images(g, part_of(g.batch, worker, team), p.in<float>(0), p.in<float>(1), mine,
                 with_bias ? my_bias : nullptr);
    });
    parallel_for(
        g.sums(), kGrain,
        [&](int64_t begin, int64_t end) {
          for (int64_t worker = 1; worker < used; ++worker)
            for (int64_t i = begin; i < end; ++i) sums[i] += rest[(worker - 1) * each + i];
        },
        16);
    for (int64_t worker = 1; worker < used && with_bias; ++worker)
      for (int64_t f = 0; f < g.filters; ++f) bias[f] += rest[(worker - 1) * each + g.sums() + f];
  });
  return true;
}

}  // namespace stoker::cpu
