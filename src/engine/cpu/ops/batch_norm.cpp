// Batch norm on own kernels: oneDNN's needs a workspace for its ReLU and reads x three times where
// two are enough.
#include <cmath>

#include "engine/cpu/ops/channels.h"
#include "engine/cpu/ops/op_builders.h"

namespace stoker::cpu {

ChannelView::ChannelView(const TensorSpec& spec, const Layout& layout) {
  ImageView image;
  channels = spec.shape[-1];
  total_pixels = channels == 0 ? 0 : spec.shape.elements() / channels;
  if (!layout.is_plain() && view_image(spec, layout, image)) {
    parts = image.batch;
    part_stride = image.image_stride;
    pixels = last_pixels = image.height * image.width;
    blocks = image.blocks;
    block_stride = image.block_stride;
    inner = image.inner;
    pixel_stride = image.pixel_stride;
    stored_channels = blocks * inner;
    return;
  }
  constexpr int64_t kPixels = 64;
  parts = (total_pixels + kPixels - 1) / kPixels;
  pixels = kPixels;
  last_pixels = total_pixels - (parts - 1) * kPixels;
  part_stride = kPixels * channels;
  inner = channels < KernelTable::kColumns ? channels : KernelTable::kColumns;
  blocks = inner == 0 ? 0 : (channels + inner - 1) / inner;
  block_stride = inner;
  pixel_stride = stored_channels = channels;
}

namespace {

// Two sums a channel and worker, in double; and what becomes of them, in float with the padding's
// zeros.
struct Workspace {
  int64_t channels;
  int workers;

  size_t bytes() const {
    return size_t(channels) * (2 * size_t(workers) * sizeof(double) + 4 * sizeof(float));
  }
  double* sums(void* base, int worker, int which) const {
    return static_cast<double*>(base) + (2 * worker + which) * channels;
  }
  float* row(void* base, int which) const {
    return reinterpret_cast<float*>(sums(base, workers, 0)) + which * channels;
  }
  void clear(void* base) const {
    for (int64_t i = 0; i < 2 * workers * channels; ++i) sums(base, 0, 0)[i] = 0;
    for (int64_t i = 0; i < 4 * channels; ++i) row(base, 0)[i] = 0;
  }
  // Always in the order of the workers, so that a team of one size gives one result.
  double total(void* base, int which, int64_t channel) const {
    double sum = 0;
    for (int worker = 0; worker < workers; ++worker) sum += sums(base, worker, which)[channel];
    return sum;
  }
};

// A layout the kernels understand: the one x has, or plain.
Layout usable(const TensorSpec& spec, const Layout& layout) {
  ImageView image;
  return !layout.is_plain() && view_image(spec, layout, image) ? layout : Layout();
}

bool has_relu(const Node& node) {
  return node.attrs.get_or<std::string>("activation", "") == "relu";
}

// x: [.., C], gamma, beta: [C] → y, mean, variance
void build_batch_norm(Builder& b, const Node& node) {
  int x = node.inputs[0];
  Layout layout = usable(b.spec(x), b.layout(x));
  ChannelView view(b.spec(x), layout);
  Workspace space{view.stored_channels, team_size()};
  auto epsilon = node.attrs.get<double>("epsilon");
  bool relu = has_relu(node);
  int in = b.input(x, layout), gamma = b.plain(node.inputs[1]), beta = b.plain(node.inputs[2]);
  int y = b.define_over(node.outputs[0], layout, {in});
  int mean = b.define(node.outputs[1]), variance = b.define(node.outputs[2]);
  b.emit({own_kernel(), {in, gamma, beta}, {y, mean, variance, b.scratch(space.bytes())}},
         [=](Pointers p) {
           const float* data = p.in<float>(0);
           void* base = p.out<void>(6);
           float *shift = space.row(base, 0), *scale = space.row(base, 1),
                 *offset = space.row(base, 2);
           space.clear(base);
           // Sums of x - shift, with the first pixel as shift: cancellation stays small wherever
           // the mean is.
           for (int64_t c = 0; c < view.channels; ++c)
             shift[c] = data[c / view.inner * view.block_stride + c % view.inner];
           for_each_block(view, [&](int64_t part, int64_t index, int64_t at, int worker) {
             int64_t c = index * view.inner;
             kernels().channel_sums(data + at, view.block(part, index), shift + c,
                                    space.sums(base, worker, 0) + c,
                                    space.sums(base, worker, 1) + c);
           });
           for (int64_t c = 0; c < view.channels; ++c) {
             double count = double(view.total_pixels), first = space.total(base, 0, c) / count;
             double second = space.total(base, 1, c) / count - first * first;
             p.out<float>(4)[c] = shift[c] = float(shift[c] + first);
             p.out<float>(5)[c] = float(second <= 0 ? 0 : second);
             scale[c] = float(p.in<float>(1)[c] / std::sqrt((second <= 0 ? 0 : second) + epsilon));
             offset[c] = p.in<float>(2)[c];
           }
           for_each_block(view, [&](int64_t part, int64_t index, int64_t at, int) {
             int64_t c = index * view.inner;
             kernels().channel_affine(data + at, p.out<float>(3) + at, view.block(part, index),
                                      shift + c, scale + c, offset + c, relu);
           });
         });
}

// x, gamma, beta, mean, variance → y
void build_batch_norm_inference(Builder& b, const Node& node) {
  int x = node.inputs[0];
  Layout layout = usable(b.spec(x), b.layout(x));
  ChannelView view(b.spec(x), layout);
  Workspace space{view.stored_channels, 0};
  auto epsilon = node.attrs.get<double>("epsilon");
  bool relu = has_relu(node);
  int in = b.input(x, layout);
  std::vector<int> reads = {in};
  for (size_t i = 1; i < 5; ++i) reads.push_back(b.plain(node.inputs[i]));
  int y = b.define_over(node.outputs[0], layout, {in});
  b.emit({own_kernel(), reads, {y, b.scratch(space.bytes())}}, [=](Pointers p) {
    void* base = p.out<void>(6);
    float *mean = space.row(base, 0), *scale = space.row(base, 1), *offset = space.row(base, 2);
    space.clear(base);
    for (int64_t c = 0; c < view.channels; ++c) {
      mean[c] = p.in<float>(3)[c];
      scale[c] = float(p.in<float>(1)[c] / std::sqrt(p.in<float>(4)[c] + epsilon));
      offset[c] = p.in<float>(2)[c];
    }
    for_each_block(view, [&](int64_t part, int64_t index, int64_t at, int) {
      int64_t c = index * view.inner;
      kernels().channel_affine(p.in<float>(0) + at, p.out<float>(5) + at, view.block(part, index),
                               mean + c, scale + c, offset + c, relu);
    });
  });
}

// dy, x, gamma, mean, variance [, y] → dx, dgamma, dbeta. With r = 1 / sqrt(variance + epsilon) and
// n pixels: dx = gamma · r · (dy - Σdy / n - (x - mean) · r² · Σ(dy · (x - mean)) / n).
void build_batch_norm_grad(Builder& b, const Node& node) {
  int dy = node.inputs[0], x = node.inputs[1];
  Layout layout = usable(b.spec(x), b.layout(x));
  ChannelView view(b.spec(x), layout);
  Workspace space{view.stored_channels, team_size()};
  auto epsilon = node.attrs.get<double>("epsilon");
  bool relu = has_relu(node);
  int d = b.input(dy, layout), in = b.input(x, layout);
  int y = relu ? b.input(node.inputs[5], layout) : in;
  std::vector<int> reads = {
      d, in, b.plain(node.inputs[2]), b.plain(node.inputs[3]), b.plain(node.inputs[4]), y};
  int dx = b.define_over(node.outputs[0], layout, {d, in});
  int dgamma = b.define(node.outputs[1]), dbeta = b.define(node.outputs[2]);
  b.emit({own_kernel(), reads, {dx, dgamma, dbeta, b.scratch(space.bytes())}}, [=](Pointers p) {
    const float *grad = p.in<float>(0), *data = p.in<float>(1), *output = p.in<float>(5);
    void* base = p.out<void>(9);
    float *mean = space.row(base, 0), *factor = space.row(base, 1), *slope = space.row(base, 2),
          *offset = space.row(base, 3);
    space.clear(base);
    for (int64_t c = 0; c < view.channels; ++c) mean[c] = p.in<float>(3)[c];
    for_each_block(view, [&](int64_t part, int64_t index, int64_t at, int worker) {
      int64_t c = index * view.inner;
      kernels().channel_grad_sums(data + at, grad + at, relu ? output + at : nullptr,
                                  view.block(part, index), mean + c,
                                  space.sums(base, worker, 0) + c, space.sums(base, worker, 1) + c);
    });
    for (int64_t c = 0; c < view.channels; ++c) {
      double r = 1 / std::sqrt(p.in<float>(4)[c] + epsilon), gamma = p.in<float>(2)[c],
             n = double(view.total_pixels);
      double sum = space.total(base, 0, c), product = space.total(base, 1, c);
      p.out<float>(7)[c] = float(product * r);
      p.out<float>(8)[c] = float(sum);
      factor[c] = float(gamma * r);
      slope[c] = float(-gamma * r * r * r * product / n);
      offset[c] = float(-gamma * r * sum / n);
    }
    for_each_block(view, [&](int64_t part, int64_t index, int64_t at, int) {
      int64_t c = index * view.inner;
      kernels().channel_grad(data + at, grad + at, relu ? output + at : nullptr,
                             p.out<float>(6) + at, view.block(part, index), mean + c, factor + c,
                             slope + c, offset + c);
    });
  });
}

}  // namespace

void add_batch_norm_builders(OpBuilders& table) {
  table["batch_norm"] = {floats, build_batch_norm};
  table["batch_norm_grad"] = {floats, build_batch_norm_grad};
  table["batch_norm_inference"] = {floats, build_batch_norm_inference};
}

}  // namespace stoker::cpu
