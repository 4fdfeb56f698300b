#include "engine/cpu/ops/stem.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/conv2d.h"
#include "engine/cpu/team.h"
#include "engine/pooled_conv.h"

namespace stoker::cpu {

namespace {

constexpr int64_t kMostChannels = 4;

bool takes(Builder& b, const Node& conv) {
  const Shape &x = b.shape(conv.inputs[0]), &y = b.shape(conv.outputs[0]);
  return conv.inputs.size() == 3 && b.spec(conv.inputs[0]).dtype == DType::float32 &&
         x[3] <= kMostChannels && y[3] % kernels().lanes == 0 && y[1] >= 2 && y[2] >= 2 &&
         conv.attrs.get_or<int64_t>("groups", 1) == 1 &&
         conv.attrs.get_or<Ints>("dilation", {1, 1}) == Ints{1, 1};
}

// One image with its padding around it.
struct PaddedImage {
  int64_t height, width, channels, top, left, padded_height, padded_width;

  PaddedImage(const Shape& x, const Ints& pads)
      : height(x[1]),
        width(x[2]),
        channels(x[3]),
        top(pads[0]),
        left(pads[2]),
        padded_height(x[1] + pads[0] + pads[1]),
        padded_width(x[2] + pads[2] + pads[3]) {}

  bool has_padding() const { return padded_height != height || padded_width != width; }
  int64_t floats() const { return padded_height * padded_width * channels; }
  // The image as it is, or a copy in `space` with zeros around it.
  const float* prepare(const float* image, float* space) const {
    if (!has_padding()) return image;
    std::memset(space, 0, size_t(floats()) * sizeof(float));
    for (int64_t row = 0; row < height; ++row)
      std::memcpy(space + ((row + top) * padded_width + left) * channels,
                  image + row * width * channels, size_t(width * channels) * sizeof(float));
    return space;
  }
};

struct Stem {
  PaddedImage image;
  StemGeometry geometry;
  std::vector<int64_t> offsets;
  int64_t batch, y_image;  // images, and floats of a pooled one
  Layout y_layout;

  Stem(Builder& b, const PooledConv& nodes)
      : image(b.shape(nodes.conv->inputs[0]), nodes.conv->attrs.get<Ints>("pads")),
        batch(b.shape(nodes.conv->inputs[0])[0]) {
    const Shape &w = b.shape(nodes.conv->inputs[1]), &y = b.shape(nodes.pool->outputs[0]);
    const Ints& strides = nodes.conv->attrs.get<Ints>("strides");
    int64_t line = image.padded_width * image.channels;
    for (int64_t h = 0; h < w[0]; ++h)
      for (int64_t i = 0; i < w[1] * w[2]; ++i) offsets.push_back(h * line + i);
    // In the layout that the next convolution will want.
    if (!convolves_channels_last() && kernels().lanes == 8)
      y_layout = {image_desc(y), Desc({y[0], y[3], y[1], y[2]}, dnnl::memory::data_type::f32,
                                      dnnl::memory::format_tag::nChw8c)};
    ImageView view;
    view_image(b.spec(nodes.pool->outputs[0]), y_layout, view);
    y_image = view.image_stride;
    geometry = {y[1],
                y[2],
                strides[0] * line,
                strides[1] * image.channels,
                int64_t(offsets.size()),
                w[3],
                nullptr,
                view.pixel_stride,
                y_layout.is_plain() ? kernels().lanes : view.block_stride};
  }

  StemGeometry bound() const {  // with the offsets of this copy
    StemGeometry g = geometry;
    g.offsets = offsets.data();
    return g;
  }
  int64_t winners() const { return geometry.rows * geometry.columns * geometry.filters; }
  int64_t work() const { return batch * winners() * geometry.taps; }
  size_t image_space() const {  // padded images, one per worker
    return image.has_padding() ? size_t(team_size()) * size_t(image.floats()) * sizeof(float) : 0;
  }
};

// x, w, bias → y, winner
void emit_forward(Builder& b, const Stem& stem, const PooledConv& nodes, int winner) {
  int x = b.plain(nodes.conv->inputs[0]), w = b.plain(nodes.conv->inputs[1]),
      bias = b.plain(nodes.conv->inputs[2]);
  int y = b.define(nodes.pool->outputs[0], stem.y_layout);
  b.emit({own_kernel() + ":stem", {x, w, bias}, {y, winner, b.scratch(stem.image_space())}},
         [stem](Pointers p) {
           StemGeometry g = stem.bound();
           int64_t floats = stem.image.height * stem.image.width * stem.image.channels;
           parallel_team(stem.work(), kGrain, [&](int worker, int workers) {
             Part part = part_of(stem.batch, worker, workers);
             float* space = p.out<float>(5) + worker * stem.image.floats();
             for (int64_t i = part.begin; i < part.end; ++i)
               kernels().stem(stem.image.prepare(p.in<float>(0) + i * floats, space),
                              p.in<float>(1), p.in<float>(2), p.out<float>(3) + i * stem.y_image,
                              p.out<uint8_t>(4) + i * stem.winners(), g);
           });
         });
}

// x, dy, winner → dw [, db]; every worker sums its images, and the sums are added in the order of
// the workers.
void emit_backward(Builder& b, const Stem& stem, const PooledConv& nodes, int winner) {
  int x = b.plain(nodes.conv->inputs[0]), dy = b.input(nodes.pool_grad->inputs[2], stem.y_layout);
  int dw = b.define(nodes.weight_grad->outputs[0]);
  bool with_bias = nodes.weight_grad->outputs.size() > 1;
  int64_t filters = stem.geometry.filters, weights = stem.geometry.taps * filters,
          sums = weights + filters;
  int db = with_bias ? b.define(nodes.weight_grad->outputs[1])
                     : b.scratch(size_t(filters) * sizeof(float));
  int workers = team_size();
  int partial = b.scratch(size_t(workers * sums) * sizeof(float));
  b.emit(
      {own_kernel() + ":stem", {x, dy, winner}, {dw, db, partial, b.scratch(stem.image_space())}},
      [=](Pointers p) {
        StemGeometry g = stem.bound();
        int64_t floats = stem.image.height * stem.image.width * stem.image.channels;
        float* all = p.out<float>(5);
        std::memset(all, 0, size_t(workers * sums) * sizeof(float));
        parallel_team(stem.work(), kGrain, [&](int worker, int team) {
          Part part = part_of(stem.batch, worker, team);
          float *space = p.out<float>(6) + worker * stem.image.floats(),
                *mine = all + worker * sums;
          for (int64_t i = part.begin; i < part.end; ++i)
            kernels().stem_grad(stem.image.prepare(p.in<float>(0) + i * floats, space),
                                p.in<float>(1) + i * stem.y_image,
                                p.in<uint8_t>(2) + i * stem.winners(), mine, mine + weights, g);
        });
        for (int worker = 1; worker < workers; ++worker)
          for (int64_t i = 0; i < sums; ++i) all[i] += all[worker * sums + i];
        std::memcpy(p.out<float>(3), all, size_t(weights) * sizeof(float));
        std::memcpy(p.out<float>(4), all + weights, size_t(filters) * sizeof(float));
      });
}

}  // namespace

bool build_stem(Builder& b, const Node& conv) {
  if (!takes(b, conv)) return false;
  std::optional<PooledConv> found = find_pooled_conv(Readers(b.graph()), conv);
  if (!found) return false;
  const PooledConv nodes = *found;
  Stem stem(b, nodes);
  int winner = b.scratch(size_t(stem.batch * stem.winners()));
  emit_forward(b, stem, nodes, winner);
  if (nodes.pool_grad == nullptr) return true;
  b.take_into(*nodes.pool_grad, *nodes.weight_grad);
  b.claim(*nodes.weight_grad, [=](Builder& later) { emit_backward(later, stem, nodes, winner); });
  return true;
}

}  // namespace stoker::cpu
