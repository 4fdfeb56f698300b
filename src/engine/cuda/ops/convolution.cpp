// conv2d and its gradient by the image: cuDNN where it has a plan, own kernels elsewhere.

#include "engine/cuda/kernels/depthwise.h"
#include "engine/cuda/ops/conv_frames.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/products.h"
#include "engine/guard_sees.h"

namespace stoker::cuda {

namespace {

// --- forward ---

void emit_direct(Builder& b, const Node& node, const ConvShape& shape, int y) {
  DirectConv call;
  call.dtype = b.spec(node.inputs[0]).dtype;
  call.shape = shape;
  auto activation = node.attrs.get_or<std::string>("activation", "");
  bool clipped = activation == "relu6" && is_depthwise(shape);
  call.relu = activation == "relu" || clipped;
  if (clipped) call.ceiling = 6;
  bool has_bias = node.inputs.size() > 2, simple = activation.empty() || call.relu;
  call.wide = !simple;
  std::vector<int> reads = {b.input(node.inputs[0]), b.input(node.inputs[1])};
  if (has_bias) reads.push_back(b.input(node.inputs[2]));
  int out = simple ? y : b.scratch(size_t(b.shape(node.outputs[0]).elements()) * sizeof(float));
  b.emit({"own:conv", reads, {out}}, [call, has_bias](const Launch& at) {
    DirectConv bound = call;
    bound.x = at.get(0);
    bound.w = at.get(1);
    bound.bias = has_bias ? at.get(2) : nullptr;
    bound.out = at.get(has_bias ? 3 : 2);
    run_direct_conv(bound, at.stream);
  });
  if (!simple) emit_epilogue(b, node, {out, DType::float32, -1, y});
}

// How much of bias and activation the plan itself does.
struct ForwardPlan {
  std::shared_ptr<const ConvPlan> plan;
  bool bias = false, done = false;  // done: nothing is left for an epilogue
  bool wide = false;
};

ForwardPlan find_forward(Builder& b, const Node& node, const ConvShape& shape) {
  ConvKey key{.kind = ConvKind::forward, .shape = shape, .dtype = b.spec(node.inputs[0]).dtype};
  auto activation = node.attrs.get_or<std::string>("activation", "");
  bool has_bias = node.inputs.size() > 2;
  bool relu = activation == "relu" && guard_sees(b.graph(), node);  // else own kernels keep NaN
  bool plain = !has_bias && activation.empty();
  // Fused plans compute with tensor cores: not for full float32, where an epilogue rounds nothing.
  if (plain || (key.dtype == DType::float32 && !b.options().tf32))
    return {find_conv_plan(b, key), false, plain, false};
  key.bias = has_bias;
  key.relu = relu;
  key.wide = !activation.empty() && activation != "relu" && key.dtype != DType::float32;
  if (auto plan = find_conv_plan(b, key))
    return {plan, has_bias, !key.wide && (activation.empty() || relu), key.wide};
  key.bias = key.relu = false;
  key.wide = key.dtype != DType::float32;
  return {find_conv_plan(b, key), false, false, key.wide};
}

void build_conv2d(Builder& b, const Node& node) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  ConvShape own = conv_shape_of(node, b.shape(node.inputs[0]), b.shape(node.inputs[1]),
                                b.shape(node.outputs[0]));
  if (is_patch_conv(own, dtype)) return build_patch_conv(b, node, own);
  if (is_small_product(own)) return build_small_product(b, node, own);
  if (is_tall_conv(own, dtype) && build_tall_product(b, node, tall_shape(own))) return;
  int y = b.define(node.outputs[0]);
  if (b.shape(node.outputs[0]).elements() == 0) return;
  ConvShape framed = shape_for_cudnn(own, dtype);
  ForwardPlan found;
  if (!prefers_direct_conv(own, dtype)) found = find_forward(b, node, framed);
  if (found.plan == nullptr) return emit_direct(b, node, own, y);
  int x = framed_image(b, b.input(node.inputs[0]), own, framed, dtype);
  int w = b.kernel_for_cudnn(node.inputs[1],
                             conv_padding(dtype, b.shape(node.inputs[1])[2], own.groups));
  int bias = node.inputs.size() > 2 ? b.input(node.inputs[2]) : -1;
  int workspace = b.scratch(found.plan->workspace());
  int out = found.wide ? b.scratch(size_t(b.shape(node.outputs[0]).elements()) * sizeof(float)) : y;
  std::vector<int> reads = {x, w};
  if (found.bias) reads.push_back(bias);
  b.emit({found.plan->name(), reads, {out, workspace}},
         [plan = found.plan, with_bias = found.bias](const Launch& at) {
           size_t next = with_bias ? 3 : 2;
           plan->run(at.device, at.get(0), at.get(1), at.get(next), with_bias ? at.get(2) : nullptr,
                     at.get(next + 1));
         });
  if (!found.done)
    emit_epilogue(b, node, {out, found.wide ? DType::float32 : dtype, found.bias ? -1 : bias, y});
}

// --- the image's gradient ---

void build_input_grad(Builder& b, const Node& node) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  ConvShape own = conv_shape_of(node, b.shape(node.outputs[0]), b.shape(node.inputs[1]),
                                b.shape(node.inputs[0]));
  if (b.shape(node.outputs[0]).elements() == 0) {
    b.define(node.outputs[0]);
    return;
  }
  if (is_patch_conv(own, dtype)) return build_patch_conv_input_grad(b, node, own);
  if (is_small_product(own)) return build_small_product_input_grad(b, node, own);
  if (is_tall_conv(own, dtype) && build_tall_input_grad(b, node, tall_shape(own))) return;
  ConvShape framed = shape_for_cudnn(own, dtype);
  std::shared_ptr<const ConvPlan> plan;
  if (!prefers_direct_input_grad(own, dtype))
    plan = find_conv_plan(b, {.kind = ConvKind::input_grad, .shape = framed, .dtype = dtype});
  int dy = b.input(node.inputs[0]);
  if (plan == nullptr) {
    int w = b.input(node.inputs[1]), dx = b.define(node.outputs[0]);
    b.emit({"own:conv", {dy, w}, {dx}}, [own, dtype](const Launch& at) {
      run_direct_conv_input_grad(
          {.dtype = dtype, .shape = own, .w = at.get(1), .dy = at.get(0), .out = at.get(2)},
          at.stream);
    });
    return;
  }
  int w = b.kernel_for_cudnn(node.inputs[1],
                             conv_padding(dtype, b.shape(node.inputs[1])[2], own.groups));
  bool is_copied = is_framed(own, framed);
  int dx = is_copied ? b.scratch(image_bytes(framed, dtype)) : b.define(node.outputs[0]);
  int workspace = b.scratch(plan->workspace());
  b.emit({plan->name(), {dy, w}, {dx, workspace}}, [plan](const Launch& at) {
    plan->run(at.device, at.get(2), at.get(1), at.get(0), nullptr, at.get(3));
  });
  if (!is_copied) return;
  int result = b.define(node.outputs[0]);
  emit_frame_copy(b, frame_copy(own, framed, dtype, Frame::taken_off), "slice", dx, result);
}

}  // namespace

void add_convolution_builders(OpBuilders& table) {
  table["conv2d"] = {build_conv2d};
  table["conv2d_input_grad"] = {build_input_grad};
  table["conv2d_transpose"] = {build_input_grad};
  table["conv2d_weight_grad"] = {build_conv_weight_grad};
}

}  // namespace stoker::cuda
