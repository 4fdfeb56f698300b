// x: [B, H, W, C], w: [kh, kw, C / groups, filters], y: [B, H', W', filters]. All three kernels
// walk the same products x * w -> y and add up a different one of the three.
#include "engine/reference/kernel.h"
#include "engine/reference/unary_math.h"
#include "engine/reference/window.h"

namespace stoker::reference {

namespace {

// body(x position, w position, y position) for every product of the convolution.
template <class Body>
void for_each_product(const Attrs& attrs, const Shape& x, const Shape& w, const Shape& y,
                      Body body) {
  Window window(attrs, w[0], w[1]);
  auto groups = attrs.get_or<int64_t>("groups", 1);
  int64_t group_channels = x[3] / groups, group_filters = y[3] / groups;
  for_each_pixel(y, [&](int64_t b, int64_t out_row, int64_t out_column) {
    int64_t to = pixel(y, b, out_row, out_column);
    window.for_each(out_row, out_column, x[1], x[2],
                    [&](int64_t row, int64_t column, int64_t ky, int64_t kx) {
                      int64_t from = pixel(x, b, row, column);
                      for (int64_t channel = 0; channel < group_channels; ++channel) {
                        int64_t weight = ((ky * w[1] + kx) * group_channels + channel) * y[3];
                        for (int64_t filter = 0; filter < y[3]; ++filter)
                          body(from + filter / group_filters * group_channels + channel,
                               weight + filter, to + filter);
                      }
                    });
  });
}

void conv2d(const Call& call) {
  const Array &x = call.in(0), &w = call.in(1);
  Array& y = call.out();
  for_each_product(call.attrs, x.shape(), w.shape(), y.shape(),
                   [&](int64_t from, int64_t weight, int64_t to) { y[to] += x[from] * w[weight]; });
  Activation activation(call.attrs);
  const Array* bias = call.inputs.size() > 2 ? &call.in(2) : nullptr;
  for (int64_t i = 0; i < y.size(); ++i)
    y[i] = activation(y[i] + (bias != nullptr ? (*bias)[i % bias->size()] : 0));
}

void conv2d_input_grad(const Call& call) {
  const Array &dy = call.in(0), &w = call.in(1);
  Array& dx = call.out();
  for_each_product(
      call.attrs, dx.shape(), w.shape(), dy.shape(),
      [&](int64_t from, int64_t weight, int64_t to) { dx[from] += dy[to] * w[weight]; });
}

void conv2d_weight_grad(const Call& call) {
  const Array &x = call.in(0), &dy = call.in(1);
  Array& dw = call.out();
  for_each_product(
      call.attrs, x.shape(), dw.shape(), dy.shape(),
      [&](int64_t from, int64_t weight, int64_t to) { dw[weight] += x[from] * dy[to]; });
  if (!call.attrs.get_or("bias", false)) return;
  Array& db = call.out(1);
  for (int64_t i = 0; i < dy.size(); ++i) db[i % db.size()] += dy[i];
}

}  // namespace

void add_convolution_kernels(KernelTable& table) {
  table["conv2d"] = conv2d;
  table["conv2d_input_grad"] = conv2d_input_grad;
  table["conv2d_transpose"] = conv2d_input_grad;
  table["conv2d_weight_grad"] = conv2d_weight_grad;
}

}  // namespace stoker::reference
