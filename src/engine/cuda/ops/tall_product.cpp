#include "engine/cuda/kernels/tall_product.h"

#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/products.h"

namespace stoker::cuda {

namespace {

TallProduct tall_call(DType dtype, const TallShape& shape) {
  TallProduct call;
  call.dtype = dtype;
  call.rows = shape.rows;
  call.channels = int(shape.channels);
  call.filters = int(shape.filters);
  return call;
}

bool applies(DType dtype, const TallShape& s) {
  return is_tall_product(dtype, s.rows, s.channels, s.filters);
}

}  // namespace

bool build_tall_product(Builder& b, const Node& node, const TallShape& shape) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  auto activation = node.attrs.get_or<std::string>("activation", "");
  if (!applies(dtype, shape) || (!activation.empty() && activation != "relu")) return false;
  TallProduct call = tall_call(dtype, shape);
  call.relu = activation == "relu";
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.input(value));
  bool has_bias = reads.size() > 2;
  b.emit({"own:tall", reads, {b.define(node.outputs[0])}}, [call, has_bias](const Launch& at) {
    TallProduct bound = call;
    bound.x = at.get(0);
    bound.w = at.get(1);
    if (has_bias) bound.bias = at.get(2);
    bound.out = at.get(has_bias ? 3 : 2);
    run_tall_product(bound, at.stream);
  });
  return true;
}

// dy, w → dx
bool build_tall_input_grad(Builder& b, const Node& node, const TallShape& shape) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  if (!applies(dtype, shape)) return false;
  TallProduct call = tall_call(dtype, shape);
  int dy = b.input(node.inputs[0]), w = b.input(node.inputs[1]), dx = b.define(node.outputs[0]);
  b.emit({"own:tall", {dy, w}, {dx}}, [call](const Launch& at) {
    TallProduct bound = call;
    bound.dy = at.get(0);
    bound.w = at.get(1);
    bound.out = at.get(2);
    run_tall_product_input_grad(bound, at.stream);
  });
  return true;
}

// x, dy → dw [, db]
bool build_tall_weight_grad(Builder& b, const Node& node, const TallShape& shape) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  if (!applies(dtype, shape)) return false;
  TallProduct call = tall_call(dtype, shape);
  int x = b.input(node.inputs[0]), dy = b.input(node.inputs[1]);
  std::vector<int> writes = {b.define(node.outputs[0]),
                             b.scratch(tall_product_partial_bytes(call))};
  bool has_bias = node.outputs.size() > 1;
  if (has_bias) writes.push_back(b.define(node.outputs[1]));
  b.emit({"own:tall", {x, dy}, writes}, [call, has_bias](const Launch& at) {
    TallProduct bound = call;
    bound.x = at.get(0);
    bound.dy = at.get(1);
    bound.out = at.get(2);
    bound.partials = at.get<float>(3);
    if (has_bias) bound.bias_out = at.get(4);
    run_tall_product_weight_grad(bound, at.stream);
  });
  return true;
}

}  // namespace stoker::cuda
