#include "engine/cuda/kernels/narrow_product.h"

#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/products.h"

namespace stoker::cuda {

namespace {

NarrowProduct narrow_call(DType dtype, const NarrowShape& shape) {
  NarrowProduct call;
  call.dtype = dtype;
  call.rows = shape.rows;
  call.channels = int(shape.channels);
  call.filters = int(shape.filters);
  return call;
}

bool applies(DType dtype, const NarrowShape& s) {
  return is_narrow_product(dtype, s.rows, s.channels, s.filters);
}

}  // namespace

bool build_narrow_product(Builder& b, const Node& node, const NarrowShape& shape) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  auto activation = node.attrs.get_or<std::string>("activation", "");
  if (!applies(dtype, shape) || (!activation.empty() && activation != "relu")) return false;
  NarrowProduct call = narrow_call(dtype, shape);
  call.relu = activation == "relu";
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.input(value));
  bool has_bias = reads.size() > 2;
  b.emit({"own:narrow", reads, {b.define(node.outputs[0])}}, [call, has_bias](const Launch& at) {
    NarrowProduct bound = call;
    bound.x = at.get(0);
    bound.w = at.get(1);
    if (has_bias) bound.bias = at.get(2);
    bound.out = at.get(has_bias ? 3 : 2);
    run_narrow_product(bound, at.stream);
  });
  return true;
}

// dy, w → dx
bool build_narrow_input_grad(Builder& b, const Node& node, const NarrowShape& shape) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  if (!applies(dtype, shape)) return false;
  NarrowProduct call = narrow_call(dtype, shape);
  int dy = b.input(node.inputs[0]), w = b.input(node.inputs[1]), dx = b.define(node.outputs[0]);
  b.emit({"own:narrow", {dy, w}, {dx}}, [call](const Launch& at) {
    NarrowProduct bound = call;
    bound.dy = at.get(0);
    bound.w = at.get(1);
    bound.out = at.get(2);
    run_narrow_product_input_grad(bound, at.stream);
  });
  return true;
}

// x, dy → dw [, db]
bool build_narrow_weight_grad(Builder& b, const Node& node, const NarrowShape& shape) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  if (!applies(dtype, shape)) return false;
  NarrowProduct call = narrow_call(dtype, shape);
  int x = b.input(node.inputs[0]), dy = b.input(node.inputs[1]);
  std::vector<int> writes = {b.define(node.outputs[0]),
                             b.scratch(narrow_product_partial_bytes(call))};
  bool has_bias = node.outputs.size() > 1;
  if (has_bias) writes.push_back(b.define(node.outputs[1]));
  b.emit({"own:narrow", {x, dy}, writes}, [call, has_bias](const Launch& at) {
    NarrowProduct bound = call;
    bound.x = at.get(0);
    bound.dy = at.get(1);
    bound.out = at.get(2);
    bound.partials = at.get<float>(3);
    if (has_bias) bound.bias_out = at.get(4);
    run_narrow_product_weight_grad(bound, at.stream);
  });
  return true;
}

}  // namespace stoker::cuda
