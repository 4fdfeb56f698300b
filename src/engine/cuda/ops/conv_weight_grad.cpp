// conv2d_weight_grad: cuDNN where it has a plan, own kernels elsewhere.
#include "engine/cuda/kernels/column_sums.h"
#include "engine/cuda/kernels/depthwise.h"
#include "engine/cuda/kernels/stem.h"
#include "engine/cuda/ops/conv_frames.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/products.h"

namespace stoker::cuda {

namespace {

// dy → db. Where dy comes from a pooling: over the pooled image's gradient, where y > 0.
void emit_bias_grad(Builder& b, const Node& node) {
  const Node* pool = pooled_gradient(b.graph(), node);
  const Shape& y = b.shape(pool != nullptr ? pool->inputs[2] : node.inputs[1]);
  ColumnCall call;
  call.what = ColumnSums::sum;
  call.dtype = b.spec(node.outputs[1]).dtype;
  call.rows = y[0] * y[1] * y[2];
  call.channels = y[3];
  call.plan = plan_columns(call.dtype, call.rows, call.channels);
  if (pool != nullptr) call.mask = ReluMask::from_y;
  std::vector<int> reads = {b.input(pool != nullptr ? pool->inputs[2] : node.inputs[1])};
  if (pool != nullptr) reads.push_back(b.input(pool->inputs[1]));
  int partials = b.scratch(call.plan.partial_bytes), counters = b.zeroed(call.plan.counter_bytes);
  int db = b.define(node.outputs[1]);
  size_t next = reads.size();
  b.emit({"own:columns", reads, {db, partials, counters}, "bias_grad"},
         [call, next](const Launch& at) {
           ColumnCall bound = call;
           bound.x = at.get(0);
           bound.y = next > 1 ? at.get(1) : nullptr;
           bound.out = at.get(next);
           bound.partials = at.get(next + 1);
           bound.counters = at.get<unsigned>(next + 2);
           run_column_sums(bound, at.stream);
         });
}

// x, dy → dw [, db] by own kernels; small images' stems and depthwise ones make db on the way.
void emit_direct_weight_grad(Builder& b, const Node& node, const ConvShape& shape, int x, int dy) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  bool has_bias = node.outputs.size() > 1;
  bool both = has_bias && (is_stem(shape, dtype) || is_depthwise(shape));
  if (has_bias && !both) emit_bias_grad(b, node);
  int partials = b.scratch(direct_conv_partial_bytes(shape, dtype));
  std::vector<int> writes = {b.define(node.outputs[0]), partials};
  if (both) writes.push_back(b.define(node.outputs[1]));
  b.emit({"own:conv", {x, dy}, writes}, [shape, dtype, both](const Launch& at) {
    run_direct_conv_weight_grad({.dtype = dtype,
                                 .shape = shape,
                                 .x = at.get(0),
                                 .dy = at.get(1),
                                 .out = at.get(2),
                                 .has_bias = both,
                                 .bias_out = both ? at.get(4) : nullptr,
                                 .partials = at.get<float>(3)},
                                at.stream);
  });
}

}  // namespace

void build_conv_weight_grad(Builder& b, const Node& node) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  const Shape& y_shape = b.shape(node.inputs[1]);
  ConvShape own = conv_shape_of(node, b.shape(node.inputs[0]), b.shape(node.outputs[0]), y_shape);
  if (is_patch_conv(own, dtype)) {
    if (node.outputs.size() > 1) emit_bias_grad(b, node);
    return build_patch_conv_weight_grad(b, node, own);
  }
  if (is_small_product(own)) {
    if (node.outputs.size() > 1) emit_bias_grad(b, node);
    return build_small_product_weight_grad(b, node, own);
  }
  if (is_tall_conv(own, dtype) && build_tall_weight_grad(b, node, tall_shape(own))) return;
  ConvShape framed = shape_for_cudnn(own, dtype);
  int dy = b.input(node.inputs[1]);
  std::shared_ptr<const ConvPlan> plan;
  if (!prefers_direct_conv(own, dtype))
    plan = find_conv_plan(b, {.kind = ConvKind::weight_grad, .shape = framed, .dtype = dtype});
  if (plan == nullptr) return emit_direct_weight_grad(b, node, own, b.input(node.inputs[0]), dy);
  if (node.outputs.size() > 1) emit_bias_grad(b, node);
  int x = framed_image(b, b.input(node.inputs[0]), own, framed, dtype);
  int dw = b.define_from_cudnn(node.outputs[0], framed.channels / framed.groups);
  int workspace = b.scratch(plan->workspace());
  b.emit({plan->name(), {x, dy}, {dw, workspace}}, [plan](const Launch& at) {
    plan->run(at.device, at.get(0), at.get(2), at.get(1), nullptr, at.get(3));
  });
}

}  // namespace stoker::cuda
