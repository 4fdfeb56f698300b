#include <algorithm>
#include <array>
#include <cstring>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/conv2d.h"
#include "engine/cpu/ops/weight_grad.h"

namespace stoker::cpu {

namespace {

// Work is divided into vectors of channels times parts of the batch: as many parts whatever the
// number of threads, added up in their order, so that the bits do not depend on it.
constexpr int64_t kParts = 4;

struct DepthwiseWeightGrad : WeightGradShape {
  int64_t lanes = kernels().lanes, blocks, parts;
  bool with_bias;

  DepthwiseWeightGrad(const Attrs& attrs, const Shape& x, const Shape& dy, bool bias)
      : WeightGradShape(attrs, x, dy),
        blocks((channels + lanes - 1) / lanes),
        parts(std::min(batch, kParts)),
        with_bias(bias) {}

  // The last vector of channels ends with the last channel, and repeats some of the one before.
  int64_t first_channel(int64_t block) const { return std::min(block * lanes, channels - lanes); }
  int64_t sums() const { return taps() + 1; }  // vectors of one block and part; the bias's last
  int64_t tasks() const { return blocks * parts; }
  int64_t tasks_work() const { return work() * 16 / channels; }
};

// One row of dy with `count` taps of a row of x, which begin at tap `first`.
void add_taps(const DepthwiseWeightGrad& g, const float* x, const float* dy, int64_t first,
              int64_t count, float* sums) {
  auto offset = [&](int64_t tap) { return (first + tap) * g.dilation_w - g.left; };
  auto run = [&](int64_t tap, int64_t taps, Part pixels) {
    if (pixels.begin >= pixels.end) return;
    kernels().depthwise_taps[taps - 1](x + (pixels.begin * g.stride_w + offset(tap)) * g.channels,
                                       g.stride_w * g.channels, g.dilation_w * g.channels,
                                       dy + pixels.begin * g.filters, g.filters,
                                       pixels.end - pixels.begin, sums + tap * g.lanes);
  };
  std::array<Part, KernelTable::kDepthwiseTaps> inside = {};
  Part all = {0, g.out_width};
  for (int64_t tap = 0; tap < count; ++tap) {
    inside[size_t(tap)] = taps_inside(0, g.out_width, g.width, g.stride_w, offset(tap));
    all = {std::max(all.begin, inside[size_t(tap)].begin),
           std::min(all.end, inside[size_t(tap)].end)};
  }
  if (all.begin >= all.end) all = {g.out_width, g.out_width};
  run(0, count, all);
  for (int64_t tap = 0; tap < count; ++tap) {  // where not all taps lie in the picture
    Part mine = inside[size_t(tap)];
    run(tap, 1, {mine.begin, std::min(all.begin, mine.end)});
    run(tap, 1, {std::max(all.end, mine.begin), mine.end});
  }
}

void add_image(const DepthwiseWeightGrad& g, const float* x, const float* dy, float* sums) {
  static constexpr std::array<float, 16> kOnes = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (int64_t row = 0; row < g.out_height; ++row, dy += g.out_width * g.filters) {
    if (g.with_bias)
      kernels().depthwise_taps[0](kOnes.data(), 0, 0, dy, g.filters, g.out_width,
                                  sums + g.taps() * g.lanes);
    for (int64_t i = 0; i < g.kernel_h; ++i) {
      int64_t y = row * g.stride_h + i * g.dilation_h - g.top;
      if (y < 0 || y >= g.height) continue;
      for (int64_t first = 0; first < g.kernel_w; first += KernelTable::kDepthwiseTaps)
        add_taps(g, x + y * g.width * g.channels, dy, first,
                 std::min<int64_t>(g.kernel_w - first, KernelTable::kDepthwiseTaps),
                 sums + (i * g.kernel_w + first) * g.lanes);
    }
  }
}

void run_task(const DepthwiseWeightGrad& g, int64_t task, const float* x, const float* dy,
              float* all) {
  int64_t part = task / g.blocks, channel = g.first_channel(task % g.blocks);
  float* sums = all + task * g.sums() * g.lanes;
  std::memset(sums, 0, size_t(g.sums() * g.lanes) * sizeof(float));
  Part images = part_of(g.batch, int(part), int(g.parts));
  for (int64_t image = images.begin; image < images.end; ++image)
    add_image(g, x + image * g.height * g.width * g.channels + channel,
              dy + image * g.out_height * g.out_width * g.filters + channel, sums);
}

// sums: [parts][blocks][taps + 1, lanes] → dw: [taps, C], db: [C]
void add_parts(const DepthwiseWeightGrad& g, const float* sums, float* dw, float* db) {
  for (int64_t block = 0; block < g.blocks; ++block) {
    int64_t channel = block * g.lanes, skipped = channel - g.first_channel(block);
    for (int64_t tap = 0; tap < g.sums(); ++tap) {
      float* to = tap < g.taps() ? dw + tap * g.channels : db;
      if (to == nullptr) continue;
      for (int64_t lane = skipped; lane < g.lanes; ++lane) {
        float total = 0;
        for (int64_t part = 0; part < g.parts; ++part)
          total += sums[((part * g.blocks + block) * g.sums() + tap) * g.lanes + lane];
        to[channel + lane - skipped] = total;
      }
    }
  }
}

}  // namespace

// x: [B, H, W, C], dy: [B, H', W', C] → dw: [kh, kw, 1, C] [, db: [C]]
bool build_depthwise_weight_grad(Builder& b, const Node& node) {
  const Shape &x_shape = b.shape(node.inputs[0]), &dy_shape = b.shape(node.inputs[1]);
  int64_t groups = node.attrs.get_or<int64_t>("groups", 1);
  if (!convolves_channels_last() || kernels().lanes != 16 || groups != x_shape[3] ||
      groups != dy_shape[3] || groups < kernels().lanes)
    return false;
  DepthwiseWeightGrad g(node.attrs, x_shape, dy_shape, node.outputs.size() > 1);
  int x = b.plain(node.inputs[0]), dy = b.plain(node.inputs[1]);
  Call call{own_kernel() + ":depthwise", {x, dy}, {b.define(node.outputs[0])}};
  call.writes.push_back(b.scratch(size_t(g.tasks() * g.sums() * g.lanes) * sizeof(float)));
  if (g.with_bias) call.writes.push_back(b.define(node.outputs[1]));
  b.emit(std::move(call), [=](Pointers p) {
    float* sums = p.out<float>(3);
    parallel_for(g.tasks(), g.tasks_work() < 2 * kGrain ? g.tasks() : 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t task = begin; task < end; ++task)
                     run_task(g, task, p.in<float>(0), p.in<float>(1), sums);
                 });
    add_parts(g, sums, p.out<float>(2), g.with_bias ? p.out<float>(4) : nullptr);
  });
  return true;
}

}  // namespace stoker::cpu
