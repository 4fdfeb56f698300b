#include "engine/cuda/ops/pool_call.h"

#include <algorithm>

#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

PoolCall pool_call(const Builder& b, const Node& node, int large, int small) {
  const Shape &x = b.shape(large), &y = b.shape(small);
  const auto &window = node.attrs.get<Ints>("window"), &strides = node.attrs.get<Ints>("strides"),
             &pads = node.attrs.get<Ints>("pads");
  PoolCall call;
  call.dtype = b.spec(large).dtype;
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

namespace {

// The gradient of this pooling in the same graph, if its windows are small enough to number.
bool has_gradient(const Builder& b, const Node& node, const PoolCall& call) {
  if (call.window_y * call.window_x > PoolCall::kNotPositive - 1) return false;
  return std::ranges::any_of(b.graph().nodes(), [&](const Node& other) {
    return other.is("max_pool2d_grad") && other.inputs[0] == node.inputs[0] &&
           other.inputs[1] == node.outputs[0];
  });
}

void build_forward(Builder& b, const Node& node) {
  PoolCall call = pool_call(b, node, node.inputs[0], node.outputs[0]);
  bool is_max = node.is("max_pool2d");
  int x = b.input(node.inputs[0]), y = b.define(node.outputs[0]);
  std::vector<int> writes = {y};
  bool numbered = is_max && has_gradient(b, node, call);
  if (numbered) {
    writes.push_back(b.kept(size_t(b.shape(node.outputs[0]).elements())));
    b.attachments()[node.outputs[0]] = writes[1];
  }
  b.emit({"own:pool", {x}, writes}, [call, is_max, numbered](const Launch& at) {
    PoolCall bound = call;
    bound.x = at.get(0);
    bound.out = at.get(1);
    bound.places = numbered ? at.get<uint8_t>(2) : nullptr;
    is_max ? run_max_pool(bound, at.stream) : run_avg_pool(bound, at.stream);
  });
}

void build_max_grad(Builder& b, const Node& node) {
  PoolCall call = pool_call(b, node, node.inputs[0], node.inputs[2]);
  if (auto places = b.attachments().find(node.inputs[1]); places != b.attachments().end()) {
    int dy = b.input(node.inputs[2]), dx = b.define(node.outputs[0]);
    b.emit({"own:pool", {places->second, dy}, {dx}}, [call](const Launch& at) {
      PoolCall bound = call;
      bound.places = at.get<uint8_t>(0);
      bound.dy = at.get(1);
      bound.out = at.get(2);
      run_max_pool_grad(bound, at.stream);
    });
    return;
  }
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
  PoolCall call = pool_call(b, node, node.outputs[0], node.inputs[0]);
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
