#include "engine/cuda/kernels/pooling.h"

#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

PoolCall call_of(const Node& node, DType dtype, const Shape& x, const Shape& y) {
  const auto &window = node.attrs.get<Ints>("window"), &strides = node.attrs.get<Ints>("strides"),
             &pads = node.attrs.get<Ints>("pads");
  PoolCall call;
  call.dtype = dtype;
  call.batch = int(x[0]);
  call.height = int(x[1]);
  call.width = int(x[2]);
  call.channels = int(x[3]);
  call.out_height = int(y[1]);
  call.out_width = int(y[2]);
  call.window_y = int(window[0]);
  call.window_x = int(window[1]);
  call.stride_y = int(strides[0]);
  call.stride_x = int(strides[1]);
  call.top = int(pads[0]);
  call.left = int(pads[2]);
  call.relu = node.attrs.get_or<std::string>("activation", "") == "relu";
  return call;
}

void build_forward(Builder& b, const Node& node) {
  PoolCall call = call_of(node, b.spec(node.inputs[0]).dtype, b.shape(node.inputs[0]),
                          b.shape(node.outputs[0]));
  bool is_max = node.op->name == "max_pool2d";
  int x = b.input(node.inputs[0]), y = b.define(node.outputs[0]);
  b.emit({"own:pool", {x}, {y}}, [call, is_max](const Launch& at) {
    PoolCall bound = call;
    bound.x = at.get(0);
    bound.out = at.get(1);
    is_max ? run_max_pool(bound, at.stream) : run_avg_pool(bound, at.stream);
  });
}

void build_max_grad(Builder& b, const Node& node) {
  PoolCall call = call_of(node, b.spec(node.inputs[0]).dtype, b.shape(node.inputs[0]),
                          b.shape(node.inputs[2]));
  int x = b.input(node.inputs[0]), y = b.input(node.inputs[1]), dy = b.input(node.inputs[2]);
  int dx = b.define(node.outputs[0]);
  b.emit({"own:pool", {x, y, dy}, {dx}}, [call](const Launch& at) {
    PoolCall bound = call;
    bound.x = at.get(0);
    bound.y = at.get(1);
    bound.dy = at.get(2);
    bound.out = at.get(3);
    run_max_pool_grad(bound, at.stream);
  });
}

void build_avg_grad(Builder& b, const Node& node) {
  PoolCall call = call_of(node, b.spec(node.inputs[0]).dtype, b.shape(node.outputs[0]),
                          b.shape(node.inputs[0]));
  int dy = b.input(node.inputs[0]), dx = b.define(node.outputs[0]);
  b.emit({"own:pool", {dy}, {dx}}, [call](const Launch& at) {
    PoolCall bound = call;
    bound.dy = at.get(0);
    bound.out = at.get(1);
    run_avg_pool_grad(bound, at.stream);
  });
}

}  // namespace

void add_pooling_builders(OpBuilders& table) {
  table["max_pool2d"] = table["avg_pool2d"] = {build_forward};
  table["max_pool2d_grad"] = {build_max_grad};
  table["avg_pool2d_grad"] = {build_avg_grad};
}

}  // namespace stoker::cuda
