// Numbers in eight bits. Sums are exact; the steps from a sum to what is stored are those of
// graph/ops/quantized.h, in float32 as on every engine.
#include "graph/ops/quantized.h"

#include <algorithm>

#include "engine/reference/kernel.h"
#include "engine/reference/window.h"

namespace stoker::reference {

namespace bytes {

namespace {

using quantized::Target;

Number result(float value, const Target& y) {
  return y.floats ? Number(value) : Number(quantized::stored(value, y));
}

void quantize(const Call& call) {
  auto scale = float(call.attrs.get<double>("scale"));
  auto zero_point = float(call.attrs.get<int64_t>("zero_point"));
  for (int64_t i = 0; i < call.in(0).size(); ++i)
    call.out()[i] = quantized::stored(float(call.in(0)[i]) / scale, zero_point,
                                      float(quantized::kLowest), float(quantized::kHighest));
}

void dequantize(const Call& call) {
  auto scale = float(call.attrs.get<double>("scale"));
  auto zero_point = call.attrs.get<int64_t>("zero_point");
  for (int64_t i = 0; i < call.in(0).size(); ++i)
    call.out()[i] = float(int64_t(call.in(0)[i]) - zero_point) * scale;
}

// Sums of stored products, [.., filters] → the result.
void finish(const Call& call, const std::vector<int64_t>& sums) {
  Target y(call.attrs);
  const Array &scales = call.in(2), &bias = call.in(3);
  auto x_scale = call.attrs.get<double>("x_scale");
  for (int64_t i = 0; i < call.out().size(); ++i) {
    int64_t filter = i % scales.size();
    float sum = float(sums[size_t(i)]) + float(bias[filter]);
    call.out()[i] = result(sum * quantized::multiplier(x_scale, float(scales[filter]), y), y);
  }
}

void quantized_matmul(const Call& call) {
  const Array &x = call.in(0), &w = call.in(1);
  int64_t units = w.shape()[0], inner = w.shape()[1];
  std::vector<int64_t> sums(size_t(call.out().size()), 0);
  for (int64_t i = 0; i < call.out().size(); ++i)
    for (int64_t k = 0; k < inner; ++k)
      sums[size_t(i)] += int64_t(x[i / units * inner + k] * w[i % units * inner + k]);
  finish(call, sums);
}

// x: [B, H, W, C], w: [filters, kh, kw, C / groups]
void quantized_conv2d(const Call& call) {
  const Array &x = call.in(0), &w = call.in(1);
  const Shape &shape = x.shape(), &kernel = w.shape(), &y = call.out().shape();
  Window window(call.attrs, kernel[1], kernel[2]);
  int64_t group_filters = kernel[0] / call.attrs.get_or<int64_t>("groups", 1);
  std::vector<int64_t> sums(size_t(call.out().size()), 0);
  for_each_pixel(y, [&](int64_t b, int64_t out_row, int64_t out_column) {
    int64_t to = pixel(y, b, out_row, out_column);
    window.for_each(out_row, out_column, shape[1], shape[2],
                    [&](int64_t row, int64_t column, int64_t ky, int64_t kx) {
                      int64_t from = pixel(shape, b, row, column);
                      for (int64_t filter = 0; filter < kernel[0]; ++filter) {
                        int64_t first = from + filter / group_filters * kernel[3];
                        int64_t weight = ((filter * kernel[1] + ky) * kernel[2] + kx) * kernel[3];
                        for (int64_t channel = 0; channel < kernel[3]; ++channel)
                          sums[size_t(to + filter)] +=
                              int64_t(x[first + channel] * w[weight + channel]);
                      }
                    });
  });
  finish(call, sums);
}

void quantized_add(const Call& call) {
  Target y(call.attrs);
  auto a_factor = float(call.attrs.get<double>("a_scale") / y.scale);
  auto b_factor = float(call.attrs.get<double>("b_scale") / y.scale);
  auto a_zero = call.attrs.get<int64_t>("a_zero_point");
  auto b_zero = call.attrs.get<int64_t>("b_zero_point");
  for (int64_t i = 0; i < call.out().size(); ++i) {
    float a = float(int64_t(call.in(0)[i]) - a_zero) * a_factor;
    float b = float(int64_t(call.in(1)[i]) - b_zero) * b_factor;
    call.out()[i] = result(a + b, y);
  }
}

void quantized_multiply(const Call& call) {
  Target y(call.attrs);
  float factor = quantized::product_multiplier(call.attrs.get<double>("a_scale"),
                                               call.attrs.get<double>("b_scale"), y);
  auto a_zero = call.attrs.get<int64_t>("a_zero_point");
  auto b_zero = call.attrs.get<int64_t>("b_zero_point");
  const Array &a = call.in(0), &b = call.in(1);
  int64_t channels = a.shape().rank() == 0 ? 1 : a.shape()[-1];
  bool gate = a.size() != b.size();
  int64_t sample = gate ? a.size() / a.shape()[0] : 1;
  for (int64_t i = 0; i < call.out().size(); ++i) {
    int64_t other = gate ? i / sample * channels + i % channels : i;
    int64_t product = (int64_t(a[i]) - a_zero) * (int64_t(b[other]) - b_zero);
    call.out()[i] = result(float(product) * factor, y);
  }
}

void quantized_max_pool2d(const Call& call) {
  for_each_pool(call.attrs, call.in(0).shape(), call.out().shape(),
                [&](int64_t to, const std::vector<int64_t>& elements) {
                  for (int64_t element : elements)
                    call.out()[to] = std::max(call.out()[to], call.in(0)[element]);
                });
}

void quantized_avg_pool2d(const Call& call) {
  Target y(call.attrs);
  auto x_scale = call.attrs.get<double>("x_scale");
  auto zero_point = call.attrs.get<int64_t>("x_zero_point");
  for_each_pool(call.attrs, call.in(0).shape(), call.out().shape(),
                [&](int64_t to, const std::vector<int64_t>& elements) {
                  auto count = int64_t(elements.size());
                  int64_t sum = -count * zero_point;
                  for (int64_t element : elements) sum += int64_t(call.in(0)[element]);
                  call.out()[to] =
                      result(float(sum) * quantized::mean_multiplier(x_scale, count, y), y);
                });
}

void quantized_lookup(const Call& call) {
  for (int64_t i = 0; i < call.out().size(); ++i)
    call.out()[i] = call.in(1)[int64_t(call.in(0)[i])];
}

void add_all(KernelTable& table) {
  table["quantize"] = quantize;
  table["dequantize"] = dequantize;
  table["quantized_matmul"] = quantized_matmul;
  table["quantized_conv2d"] = quantized_conv2d;
  table["quantized_add"] = quantized_add;
  table["quantized_multiply"] = quantized_multiply;
  table["quantized_max_pool2d"] = quantized_max_pool2d;
  table["quantized_avg_pool2d"] = quantized_avg_pool2d;
  table["quantized_lookup"] = quantized_lookup;
}

}  // namespace

}  // namespace bytes

void add_quantized_kernels(KernelTable& table) { bytes::add_all(table); }

}  // namespace stoker::reference
