// quantize, dequantize, sums, poolings and tables of numbers in eight bits.
#include "graph/ops/quantized.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/quantized/isa/kernels.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

using quantized::Storage;
using stoker::quantized::Target;

bool takes_codes(DType dtype) { return dtype == DType::uint8; }

std::string own_quantized() { return own_kernel() + ":int8"; }

Storage storage_of(const Target& y) { return {y.floats, y.zero_point, y.low, y.high}; }
int64_t result_bytes(const Target& y) { return y.floats ? int64_t(sizeof(float)) : 1; }

// kernel(from, to, count) on pieces of the only operand.
template <class From, class To, class Kernel>
void emit_by_element(Builder& b, const Node& node, Kernel kernel) {
  int64_t n = b.shape(node.inputs[0]).elements();
  int x = b.plain(node.inputs[0]);
  b.emit({own_quantized(), {x}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    parallel_for(
        n, kGrain,
        [&](int64_t begin, int64_t end) {
          kernel(p.in<From>(0) + begin, p.out<To>(1) + begin, end - begin);
        },
        64);
  });
}

void build_quantize(Builder& b, const Node& node) {
  auto scale = float(node.attrs.get<double>("scale"));
  auto zero_point = float(node.attrs.get<int64_t>("zero_point"));
  emit_by_element<float, uint8_t>(b, node, [=](const float* x, uint8_t* y, int64_t n) {
    quantized::kernels().quantize(x, y, n, scale, zero_point);
  });
}

void build_dequantize(Builder& b, const Node& node) {
  auto scale = float(node.attrs.get<double>("scale"));
  auto zero_point = int32_t(node.attrs.get<int64_t>("zero_point"));
  emit_by_element<uint8_t, float>(b, node, [=](const uint8_t* x, float* y, int64_t n) {
    quantized::kernels().dequantize(x, y, n, scale, zero_point);
  });
}

void build_quantized_add(Builder& b, const Node& node) {
  Target y(node.attrs);
  quantized::AddTerms terms{int32_t(node.attrs.get<int64_t>("a_zero_point")),
                            int32_t(node.attrs.get<int64_t>("b_zero_point")),
                            float(node.attrs.get<double>("a_scale") / y.scale),
                            float(node.attrs.get<double>("b_scale") / y.scale)};
  int64_t n = b.shape(node.inputs[0]).elements(), width = result_bytes(y);
  int first = b.plain(node.inputs[0]), second = b.plain(node.inputs[1]);
  b.emit({own_quantized(), {first, second}, {b.define(node.outputs[0])}},
         [=, to = storage_of(y)](Pointers p) {
           parallel_for(
               n, kGrain,
               [&](int64_t begin, int64_t end) {
                 quantized::kernels().add(p.in<uint8_t>(0) + begin, p.in<uint8_t>(1) + begin,
                                          p.out<char>(2) + begin * width, end - begin, terms, to);
               },
               64);
         });
}

// b has the shape of a, or one factor per sample and channel: then a row of channels at a time.
void build_quantized_multiply(Builder& b, const Node& node) {
  Target y(node.attrs);
  quantized::ProductTerms terms{
      int32_t(node.attrs.get<int64_t>("a_zero_point")),
      int32_t(node.attrs.get<int64_t>("b_zero_point")),
      stoker::quantized::product_multiplier(node.attrs.get<double>("a_scale"),
                                            node.attrs.get<double>("b_scale"), y)};
  const Shape &shape = b.shape(node.inputs[0]), &other = b.shape(node.inputs[1]);
  int64_t n = shape.elements(), width = result_bytes(y), channels = 1, pixels = 1;
  bool gate = other.elements() != n;
  if (gate) {
    channels = shape[-1];
    pixels = n / (shape[0] * channels);  // of a sample
  }
  int first = b.plain(node.inputs[0]), second = b.plain(node.inputs[1]);
  b.emit({own_quantized(), {first, second}, {b.define(node.outputs[0])}}, [=, to = storage_of(y)](
                                                                              Pointers p) {
    auto rows = [&](int64_t from, int64_t with, int64_t count) {
      quantized::kernels().multiply(p.in<uint8_t>(0) + from, p.in<uint8_t>(1) + with,
                                    p.out<char>(2) + from * width, count, terms, to);
    };
    if (!gate)
      return parallel_for(
          n, kGrain, [&](int64_t begin, int64_t end) { rows(begin, begin, end - begin); }, 64);
    parallel_for(n / channels, kGrain / channels + 1, [&](int64_t begin, int64_t end) {
      for (int64_t pixel = begin; pixel < end; ++pixel)
        rows(pixel * channels, pixel / pixels * channels, channels);
    });
  });
}

void build_quantized_lookup(Builder& b, const Node& node) {
  int64_t n = b.shape(node.inputs[0]).elements();
  int x = b.plain(node.inputs[0]), table = b.plain(node.inputs[1]);
  b.emit({own_quantized(), {x, table}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    parallel_for(
        n, kGrain,
        [&](int64_t begin, int64_t end) {
          const uint8_t *from = p.in<uint8_t>(0), *codes = p.in<uint8_t>(1);
          uint8_t* to = p.out<uint8_t>(2);
          for (int64_t i = begin; i < end; ++i) to[i] = codes[from[i]];
        },
        64);
  });
}

// --- pooling: windows of [B, H, W, C], row by row of the result ---

struct BytePool {
  int64_t batch, height, width, channels, out_height, out_width;
  int64_t window_h, window_w, stride_h, stride_w, top, left;

  BytePool(const Attrs& attrs, const Shape& x, const Shape& y)
      : batch(x[0]), height(x[1]), width(x[2]), channels(x[3]), out_height(y[1]), out_width(y[2]) {
    const Ints &window = attrs.get<Ints>("window"), &strides = attrs.get<Ints>("strides"),
               &pads = attrs.get<Ints>("pads");
    window_h = window[0];
    window_w = window[1];
    stride_h = strides[0];
    stride_w = strides[1];
    top = pads[0];
    left = pads[2];
  }

  // each(first element, pixels per row, rows, place in the result) for every window of the result's
  // rows [begin, end).
  template <class Each>
  void windows(int64_t begin, int64_t end, const Each& each) const {
    for (int64_t line = begin; line < end; ++line) {
      int64_t image = line / out_height, y = line % out_height * stride_h - top;
      int64_t first = std::max<int64_t>(y, 0), last = std::min(y + window_h, height);
      for (int64_t column = 0; column < out_width; ++column) {
        int64_t x = column * stride_w - left;
        int64_t from = std::max<int64_t>(x, 0), to = std::min(x + window_w, width);
        each(((image * height + first) * width + from) * channels, to - from, last - first,
             (line * out_width + column) * channels);
      }
    }
  }
  template <class Body>
  void for_lines(const Body& body) const {
    int64_t lines = batch * out_height, work = lines * out_width * channels * window_h * window_w;
    if (work == 0) return;
    parallel_for(lines, lines * kGrain / work + 1, body);
  }
};

void build_quantized_max_pool(Builder& b, const Node& node) {
  BytePool pool(node.attrs, b.shape(node.inputs[0]), b.shape(node.outputs[0]));
  int x = b.plain(node.inputs[0]);
  b.emit({own_quantized(), {x}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    const uint8_t* from = p.in<uint8_t>(0);
    uint8_t* to = p.out<uint8_t>(1);
    pool.for_lines([&](int64_t begin, int64_t end) {
      pool.windows(begin, end, [&](int64_t first, int64_t columns, int64_t rows, int64_t out) {
        auto count = pool.channels;
        std::memset(to + out, 0, size_t(count));
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t column = 0; column < columns; ++column)
            quantized::kernels().maximum(from + first + (row * pool.width + column) * count,
                                         to + out, count);
      });
    });
  });
}

void build_quantized_avg_pool(Builder& b, const Node& node) {
  Target y(node.attrs);
  BytePool pool(node.attrs, b.shape(node.inputs[0]), b.shape(node.outputs[0]));
  auto x_scale = node.attrs.get<double>("x_scale");
  auto zero_point = node.attrs.get<int64_t>("x_zero_point");
  int64_t width = result_bytes(y);
  int x = b.plain(node.inputs[0]);
  b.emit({own_quantized(), {x}, {b.define(node.outputs[0])}}, [=, to = storage_of(y)](Pointers p) {
    constexpr int64_t kChannels = 256;  // at a time
    const uint8_t* from = p.in<uint8_t>(0);
    pool.for_lines([&](int64_t begin, int64_t end) {
      pool.windows(begin, end, [&](int64_t first, int64_t columns, int64_t rows, int64_t out) {
        auto count = std::max<int64_t>(rows * columns, 1);
        float factor = stoker::quantized::mean_multiplier(x_scale, count, y);
        for (int64_t channel = 0; channel < pool.channels; channel += kChannels) {
          int32_t sums[kChannels] = {};
          int64_t some = std::min(kChannels, pool.channels - channel);
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t column = 0; column < columns; ++column)
              quantized::kernels().sum(
                  from + first + (row * pool.width + column) * pool.channels + channel, sums, some);
          quantized::kernels().finish_mean(sums, p.out<char>(1) + (out + channel) * width, some,
                                           int32_t(rows * columns * zero_point), factor, to);
        }
      });
    });
  });
}

}  // namespace

void add_quantized_builders(OpBuilders& table) {
  table["quantize"] = {floats, build_quantize};
  table["dequantize"] = {takes_codes, build_dequantize};
  table["quantized_add"] = {takes_codes, build_quantized_add};
  table["quantized_multiply"] = {takes_codes, build_quantized_multiply};
  table["quantized_lookup"] = {takes_codes, build_quantized_lookup};
  table["quantized_max_pool2d"] = {takes_codes, build_quantized_max_pool};
  table["quantized_avg_pool2d"] = {takes_codes, build_quantized_avg_pool};
}

}  // namespace stoker::cpu
