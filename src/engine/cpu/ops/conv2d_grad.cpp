#include <algorithm>
#include <cstring>

#include "engine/cpu/ops/conv2d.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/ops/team_weight_grad.h"
#include "engine/cpu/ops/weight_grad.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

using dnnl::convolution_backward_data;
using dnnl::convolution_forward;

namespace {

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// The input gradient of a convolution with stride 1 is itself a convolution: of dy, with the kernel
// turned by 180° and its channels exchanged. oneDNN's forward kernel for AVX-512 and NHWC is the
// better one (one core, 3×3×64 at 56×56: 167 against 91 GFLOP/s) unless most of its work is
// padding.
struct TurnedConvolution {
  dnnl::memory::dims before, after;

  explicit TurnedConvolution(const Convolution& c) {
    Dims kernel = dims_of(c.w);
    for (size_t i = 0; i < 2; ++i) {
      int64_t reach = (kernel[i + 2] - 1) * (c.dilation[i] + 1);
      before.push_back(reach - c.before[i]);
      after.push_back(reach - c.after[i]);
    }
  }

  bool pays(const Convolution& c) const {
    auto fits = [](int64_t pad, int64_t limit) { return pad >= 0 && pad <= limit; };
    bool small = true;
    for (size_t i = 0; i < 2; ++i)
      small &= fits(before[i], c.before[i]) && fits(after[i], c.after[i]);
    return convolves_channels_last() && c.groups == 1 && c.strides[0] == 1 && c.strides[1] == 1 &&
           small;
  }
};

// The kernel's pixels in reverse order; each is a matrix [C, filters].
int emit_turned_kernel(Builder& b, int w) {
  const Shape& shape = b.shape(w);
  int64_t pixels = shape[0] * shape[1];
  size_t bytes = size_t(shape[2] * shape[3]) * size_of(b.spec(w).dtype);
  int plain = b.plain(w);
  if (pixels == 1) return plain;
  int turned = b.scratch(size_t(pixels) * bytes);
  b.emit({"memcpy", {plain}, {turned}, "reorder"}, [=](Pointers p) {
    parallel_for(pixels, kGrain * 4 / int64_t(bytes + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(p.out<char>(1) + size_t(i) * bytes,
                    p.in<char>(0) + size_t(pixels - 1 - i) * bytes, bytes);
    });
  });
  return turned;
}

void build_turned(Builder& b, const Node& node, const Convolution& c,
                  const TurnedConvolution& turned) {
  int dy = node.inputs[0], w = node.inputs[1], dx = node.outputs[0];
  const Shape& kernel = b.shape(w);
  int64_t i = kernel[2], o = kernel[3];
  // [kh, kw, C, filters] with the two channel dimensions exchanged: O is C, and I the filters.
  Desc wide({i, o, kernel[0], kernel[1]}, dnnl::memory::data_type::f32,
            dnnl::memory::dims{o, 1, kernel[1] * i * o, i * o});
  Desc exchanged = with_dtype(wide, b.spec(w).dtype);
  auto desc = describe<convolution_forward>(
      attr_with_scratchpad(), dnnl::prop_kind::forward_training, kDirect, c.y, any_desc(exchanged),
      c.x, c.strides, c.dilation, turned.before, turned.after);
  int plain = emit_turned_kernel(b, w);
  int weights = b.scratch(desc.weights_desc().get_size());
  b.emit_reorder(plain, exchanged, weights, desc.weights_desc());
  b.emit_primitive<convolution_forward>(desc, {{DNNL_ARG_SRC, b.plain(dy), c.y},
                                               {DNNL_ARG_WEIGHTS, weights, desc.weights_desc()},
                                               {DNNL_ARG_DST, b.define(dx), c.x, true}});
}

// dy: [B, H', W', filters], w: [kh, kw, C / groups, filters] → dx: [B, H, W, C]
void build_conv2d_input_grad(Builder& b, const Node& node) {
  int dy = node.inputs[0], w = node.inputs[1], dx = node.outputs[0];
  Convolution c(node.attrs, b.spec(dx), b.spec(w), b.spec(dy));
  if (TurnedConvolution turned(c); turned.pays(c)) return build_turned(b, node, c, turned);
  auto desc = describe_gradient<convolution_backward_data>(
      attr_with_scratchpad(), c.hint(false), kDirect, c.image(c.x), any_desc(c.w), c.image(c.y),
      c.strides, c.dilation, c.before, c.after);
  b.emit_primitive<convolution_backward_data>(
      desc,
      {{DNNL_ARG_DIFF_DST, b.input(dy, {c.y, desc.diff_dst_desc()}), desc.diff_dst_desc()},
       {DNNL_ARG_WEIGHTS, b.input(w, {c.w, desc.weights_desc()}), desc.weights_desc()},
       {DNNL_ARG_DIFF_SRC, b.define(dx, {c.x, desc.diff_src_desc()}), desc.diff_src_desc(), true}});
}

// x: [B, H, W, C], dy: [B, H', W', filters] → dw: [kh, kw, C / groups, filters] [, db: [filters]]
void build_conv2d_weight_grad(Builder& b, const Node& node) {
  bool own = b.spec(node.inputs[0]).dtype == DType::float32;  // own kernels are for float32
  if (own && (build_depthwise_weight_grad(b, node) || build_tiled_weight_grad(b, node) ||
              build_blocked_weight_grad(b, node)))
    return;
  int x = node.inputs[0], dy = node.inputs[1], dw = node.outputs[0];
  bool with_bias = node.outputs.size() > 1;
  Convolution c(node.attrs, b.spec(x), b.spec(dw), b.spec(dy));
  WeightGradDesc desc = weight_grad_desc(c, with_bias);
  Call call{desc.impl_info_str(),
            {b.input(x, {c.x, desc.src_desc()}), b.input(dy, {c.y, desc.diff_dst_desc()})},
            {b.define(dw, {c.w, desc.diff_weights_desc()})}};
  if (with_bias) call.writes.push_back(b.define(node.outputs[1]));
  if (size_t bytes = desc.scratchpad_desc().get_size(); bytes > 0)
    call.writes.push_back(b.scratch(bytes + kBeyondScratchpad));
  b.emit_kernel(std::make_unique<TeamWeightGrad>(c, with_bias, desc, b.stream()), std::move(call));
}

}  // namespace

void add_conv2d_grad_builders(OpBuilders& table) {
  table["conv2d_input_grad"] = {products, build_conv2d_input_grad};
  table["conv2d_transpose"] = {products, build_conv2d_input_grad};
  table["conv2d_weight_grad"] = {products, build_conv2d_weight_grad};
}

}  // namespace stoker::cpu
