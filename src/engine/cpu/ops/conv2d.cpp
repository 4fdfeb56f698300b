#include "engine/cpu/ops/conv2d.h"

#include "engine/cpu/ops/activation.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/ops/stem.h"

namespace stoker::cpu {

using dnnl::convolution_forward;

bool convolves_channels_last() {
  constexpr auto kAvx512 = unsigned(dnnl::cpu_isa::avx512_core) & ~unsigned(dnnl::cpu_isa::avx2);
  return (effective_isa() & kAvx512) != 0;
}

Convolution::Convolution(const Attrs& attrs, const TensorSpec& x_spec, const TensorSpec& w_spec,
                         const TensorSpec& y_spec)
    : groups(attrs.get_or<int64_t>("groups", 1)),
      x(with_dtype(image_desc(x_spec.shape), x_spec.dtype)),
      w(with_dtype(kernel_desc(w_spec.shape, groups), w_spec.dtype)),
      y(with_dtype(image_desc(y_spec.shape), y_spec.dtype)) {
  const Ints &stride = attrs.get<Ints>("strides"), &pads = attrs.get<Ints>("pads");
  Ints dilated = attrs.get_or<Ints>("dilation", {1, 1});
  strides = {stride[0], stride[1]};
  dilation = {dilated[0] - 1, dilated[1] - 1};  // oneDNN counts the gaps
  before = {pads[0], pads[2]};
  after = {pads[1], pads[3]};
}

convolution_forward::primitive_desc Convolution::forward(bool with_bias,
                                                         const dnnl::primitive_attr& attr) const {
  constexpr auto kTraining = dnnl::prop_kind::forward_training;
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  if (with_bias)
    return describe<convolution_forward>(attr, kTraining, kDirect, image(x), any_desc(w), bias(),
                                         image(y), strides, dilation, before, after);
  return describe<convolution_forward>(attr, kTraining, kDirect, image(x), any_desc(w), image(y),
                                       strides, dilation, before, after);
}

convolution_forward::primitive_desc Convolution::hint(bool with_bias) const {
  Convolution same = *this;
  bool brief = false;
  for (const Desc& desc : {x, w, y}) brief |= blocks_of(desc).type == dnnl::memory::data_type::bf16;
  if (brief)
    for (Desc* desc : {&same.x, &same.w, &same.y}) *desc = with_dtype(*desc, DType::bfloat16);
  return same.forward(with_bias, {});
}

namespace {

// x: [B, H, W, C], w: [kh, kw, C / groups, filters] [, bias: [filters]] → y: [B, H', W', filters]
void build_conv2d(Builder& b, const Node& node) {
  if (build_stem(b, node)) return;
  int x = node.inputs[0], w = node.inputs[1], y = node.outputs[0];
  bool with_bias = node.inputs.size() > 2;
  Convolution conv(node.attrs, b.spec(x), b.spec(w), b.spec(y));
  Activation activation(node.attrs);
  dnnl::primitive_attr attr = attr_with_scratchpad();
  activation.fuse_into(attr, b, node);
  convolution_forward::primitive_desc desc = conv.forward(with_bias, attr);

  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, b.input(x, {conv.x, desc.src_desc()}), desc.src_desc()},
      {DNNL_ARG_WEIGHTS, b.input(w, {conv.w, desc.weights_desc()}), desc.weights_desc()}};
  if (with_bias) arguments.push_back({DNNL_ARG_BIAS, b.plain(node.inputs[2]), desc.bias_desc()});
  Layout layout(conv.y, desc.dst_desc());
  int buffer = b.define(y, layout);
  arguments.push_back({DNNL_ARG_DST, buffer, desc.dst_desc(), true});
  b.emit_primitive<convolution_forward>(desc, arguments);
  activation.emit(b, buffer, b.spec(y), layout);
}

}  // namespace

void add_conv2d_builders(OpBuilders& table) { table["conv2d"] = {products, build_conv2d}; }

}  // namespace stoker::cpu
