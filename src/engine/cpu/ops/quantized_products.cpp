// quantized_matmul and quantized_conv2d: oneDNN's products of uint8 with int8, with scales, bias,
// zero point and clipping in the same primitive. Weights of
// a machine without exact sums (adds_products_exactly) are halved on the way.
#include "graph/ops/quantized.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/cpu/int8_support.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

using dnnl::convolution_forward;
using dnnl::memory;
namespace quantized = stoker::quantized;
using quantized::Target;
using Type = memory::data_type;

bool takes_bytes(DType dtype) { return dtype == DType::uint8; }

Desc typed(const memory::dims& dims, Type type, const memory::dims& strides) {
  return {dims, type, strides};
}

Type result_type(const Target& y) { return y.floats ? Type::f32 : Type::u8; }

// [B, H, W, C] as N, C, H, W
Desc byte_image(const Shape& s, Type type) {
  int64_t h = s[1], w = s[2], c = s[3];
  return typed({s[0], c, h, w}, type, {h * w * c, 1, w * c, c});
}

// [filters, kh, kw, C / groups] as (g,) O, I, H, W
Desc byte_kernel(const Shape& s, int64_t groups) {
  int64_t o = s[0] / groups, h = s[1], w = s[2], i = s[3];
  if (groups == 1) return typed({o, i, h, w}, Type::s8, {h * w * i, 1, w * i, i});
  return typed({groups, o, i, h, w}, Type::s8, {o * h * w * i, h * w * i, 1, w * i, i});
}

Desc unordered(const Desc& desc) { return {dims_of(desc), Type::s8, memory::format_tag::any}; }

// What a product does behind its sums, and its weights as they may be summed.
class Weights {
 public:
  // `channels`: a vector of the result's channels beside the result.
  Weights(Builder& b, const Node& node, const Desc& channels)
      : b_(b),
        node_(node),
        channels_(channels),
        target_(node.attrs),
        halved_(node.attrs.get_or<int64_t>("weight_bits", 8) == 8 && !adds_products_exactly()) {
    set_scales();
    if (target_.zero_point != 0)
      append_elementwise(operations_, dnnl::algorithm::eltwise_linear, 1, target_.zero_point);
    // Versions and kernels of oneDNN convert NaN to 0 or to 255; its clip makes `low` of it in all.
    if (!target_.floats && (target_.clips() || !finite_))
      append_elementwise(operations_, dnnl::algorithm::eltwise_clip, target_.low, target_.high);
    attr_.set_post_ops(operations_);
  }

  const dnnl::primitive_attr& attr() const { return attr_; }

  // Operands, the kernel in the order that a primitive chose.
  std::vector<Argument> arguments(const Desc& row_major, const Desc& chosen, const Desc& bias) {
    std::vector<Argument> all = {{DNNL_ARG_WEIGHTS, kernel(row_major, chosen), chosen},
                                 {DNNL_ARG_BIAS, biases(), bias}};
    if (factors_ >= 0)
      all.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, factors_, channels_});
    return all;
  }

 private:
  int64_t filters() const { return b_.shape(node_.inputs[2]).elements(); }
  float unit() const { return halved_ ? 2 : 1; }

  static void fill(const float* scales, double x_scale, const Target& target, float unit,
                   std::span<float> factors) {
    for (size_t i = 0; i < factors.size(); ++i)
      factors[i] = quantized::multiplier(x_scale, scales[i], target) * unit;
  }

  // From sums to the result's units: part of the primitive where they are known now.
  void set_scales() {
    auto x_scale = node_.attrs.get<double>("x_scale");
    const ValueInfo& info = b_.graph().values()[size_t(node_.inputs[2])];
    if (info.kind == ValueKind::constant) {
      const Tensor& known = b_.graph().constants()[size_t(info.source)].tensor;
      std::vector<float> factors(static_cast<size_t>(filters()));
      fill(known.data<float>(), x_scale, target_, unit(), factors);
      finite_ = std::ranges::all_of(factors, [](float each) { return std::isfinite(each); });
      if (set_channel_scales(attr_, factors)) return;
    }
    int scales = b_.plain(node_.inputs[2]);
    factors_ = b_.scratch(size_t(filters()) * sizeof(float));
    b_.emit({"own:int8_scales", {scales}, {factors_}},
            [x_scale, target = target_, unit = unit(), count = size_t(filters())](Pointers p) {
              fill(p.in<float>(0), x_scale, target, unit, {p.out<float>(1), count});
            });
    operations_.append_binary(dnnl::algorithm::binary_mul, channels_);
  }

  int biases() {
    int bias = b_.plain(node_.inputs[3]);
    int floats = b_.scratch(size_t(filters()) * sizeof(float));
    b_.emit({"own:int8_bias", {bias}, {floats}}, [count = filters(), unit = unit()](Pointers p) {
      for (int64_t i = 0; i < count; ++i) p.out<float>(1)[i] = float(p.in<int32_t>(0)[i]) / unit;
    });
    return floats;
  }

  int kernel(const Desc& row_major, const Desc& chosen) {
    Layout layout(row_major, chosen);
    int value = node_.inputs[1];
    if (!halved_) return b_.input(value, layout);
    int64_t n = b_.shape(value).elements();
    int from = b_.plain(value), half = b_.scratch(size_t(n));
    b_.emit({"own:int8_halves", {from}, {half}}, [=](Pointers p) {
      parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) p.out<int8_t>(1)[i] = half_of(p.in<int8_t>(0)[i]);
      });
    });
    if (layout.is_plain()) return half;
    int ordered = b_.scratch(chosen.get_size());
    b_.emit_reorder(half, row_major, ordered, chosen);
    return ordered;
  }

  // Nearest, halves to even.
  static int8_t half_of(int8_t weight) {
    int floor = weight >> 1;
    return int8_t((weight & 1) == 0 ? floor : floor + (floor & 1));
  }

  Builder& b_;
  const Node& node_;
  Desc channels_;
  Target target_;
  bool halved_;
  dnnl::primitive_attr attr_ = attr_with_scratchpad();
  dnnl::post_ops operations_;
  int factors_ = -1;     // a buffer; -1: the primitive knows them
  bool finite_ = false;  // known to be: no sum becomes NaN
};

// x: [.., K], w: [N, K] → y: [.., N]
void build_quantized_matmul(Builder& b, const Node& node) {
  const Target target(node.attrs);
  const Shape &w = b.shape(node.inputs[1]), &shape = b.shape(node.outputs[0]);
  int64_t units = w[0], inner = w[1], rows = units == 0 ? 0 : shape.elements() / units;
  if (rows * units * inner == 0) throw Error("a product of nothing");
  Desc x_desc = typed({rows, inner}, Type::u8, {inner, 1});
  Desc w_desc = typed({inner, units}, Type::s8, {1, inner});
  Desc bias_desc = typed({1, units}, Type::f32, {units, 1});
  Desc y_desc = typed({rows, units}, result_type(target), {units, 1});
  int x = b.plain(node.inputs[0]);
  Weights weights(b, node, bias_desc);
  auto desc = describe<dnnl::matmul>(weights.attr(), x_desc, unordered(w_desc), bias_desc, y_desc);
  Desc chosen = desc.weights_desc();
  auto make_alone = [=, attr = weights.attr()] {
    auto alone = describe<dnnl::matmul>(attr, x_desc, chosen, bias_desc, y_desc);
    return AloneForm{dnnl::matmul(alone), alone.scratchpad_desc()};
  };
  std::vector<Argument> arguments = weights.arguments(w_desc, chosen, bias_desc);
  arguments.push_back({DNNL_ARG_SRC, x, x_desc});
  arguments.push_back({DNNL_ARG_DST, b.define(node.outputs[0]), y_desc, true});
  b.emit_primitive<dnnl::matmul>(desc, std::move(arguments), {}, make_alone);
}

// x: [B, H, W, C], w: [filters, kh, kw, C / groups] → y: [B, H', W', filters]
void build_quantized_conv2d(Builder& b, const Node& node) {
  const Target target(node.attrs);
  const Shape &w = b.shape(node.inputs[1]), &shape = b.shape(node.outputs[0]);
  const Ints &strides = node.attrs.get<Ints>("strides"), &pads = node.attrs.get<Ints>("pads");
  Ints dilation = node.attrs.get_or<Ints>("dilation", {1, 1});
  memory::dims steps = {strides[0], strides[1]}, gaps = {dilation[0] - 1, dilation[1] - 1},
               before = {pads[0], pads[2]}, after = {pads[1], pads[3]};
  Desc x_desc = byte_image(b.shape(node.inputs[0]), Type::u8);
  Desc w_desc = byte_kernel(w, node.attrs.get_or<int64_t>("groups", 1));
  Desc bias_desc = vector_desc(w[0]), y_desc = byte_image(shape, result_type(target));
  int x = b.plain(node.inputs[0]);
  Weights weights(b, node, typed({1, w[0], 1, 1}, Type::f32, {w[0], 1, 1, 1}));
  auto desc = describe<convolution_forward>(
      weights.attr(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      x_desc, unordered(w_desc), bias_desc, y_desc, steps, gaps, before, after);
  std::vector<Argument> arguments = weights.arguments(w_desc, desc.weights_desc(), bias_desc);
  arguments.push_back({DNNL_ARG_SRC, x, x_desc});
  arguments.push_back({DNNL_ARG_DST, b.define(node.outputs[0]), y_desc, true});
  b.emit_primitive<convolution_forward>(desc, std::move(arguments));
}

}  // namespace

bool has_exact_int8_sums() { return adds_products_exactly(); }

void add_quantized_product_builders(OpBuilders& table) {
  table["quantized_matmul"] = {takes_bytes, build_quantized_matmul};
  table["quantized_conv2d"] = {takes_bytes, build_quantized_conv2d};
}

}  // namespace stoker::cpu
