#include "engine/cuda/kernels/layer_norm.h"

#include "engine/cuda/ops/matrix.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

LayerNorm layer_norm_of(const Builder& b, const Node& node, size_t x_operand) {
  LayerNorm call;
  size_t gamma = x_operand + 1;
  Matrix x(b.shape(node.inputs[x_operand]), b.shape(node.inputs[gamma]).rank());
  call.dtype = b.spec(node.inputs[x_operand]).dtype;
  call.rows = x.rows;
  call.features = x.columns;
  call.epsilon = float(node.attrs.get_or<double>("epsilon", 0));
  return call;
}

void build_layer_norm(Builder& b, const Node& node) {
  LayerNorm call = layer_norm_of(b, node, 0);
  std::vector<int> reads, writes;
  for (int value : node.inputs) reads.push_back(b.input(value));
  for (int value : node.outputs) writes.push_back(b.define(value));
  b.emit({"own:layer_norm", reads, writes}, [call](const Launch& at) {
    LayerNorm bound = call;
    bound.x = at.get(0);
    bound.gamma = at.get<const float>(1);
    bound.beta = at.get<const float>(2);
    bound.y = at.get(3);
    bound.mean = at.get<float>(4);
    bound.rstd = at.get<float>(5);
    run_layer_norm(bound, at.stream);
  });
}

}  // namespace

// dy, x, gamma, mean, rstd → dx, dgamma, dbeta
void emit_layer_norm_grad(Builder& b, const Node& node, int addend, int sum) {
  LayerNorm call = layer_norm_of(b, node, 1);
  std::vector<int> reads, writes;
  for (int value : node.inputs) reads.push_back(b.input(value));
  bool adds = addend >= 0;
  if (adds) reads.push_back(b.input(addend));
  writes.push_back(adds ? b.define_over(sum, {reads.back()}) : b.define(node.outputs[0]));
  for (int value : {node.outputs[1], node.outputs[2]}) writes.push_back(b.define(value));
  writes.push_back(b.scratch(size_t(layer_norm_splits(call.dtype, call.rows, call.features)) * 2 *
                             size_t(call.features) * sizeof(float)));
  size_t next = reads.size();
  Call made{"own:layer_norm", reads, writes};
  made.node = b.index_of(node);  // also where it takes a sum along
  b.emit(std::move(made), [call, adds, next](const Launch& at) {
    LayerNorm bound = call;
    bound.dy = at.get(0);
    bound.x = at.get(1);
    bound.gamma = at.get<const float>(2);
    bound.mean = at.get<float>(3);
    bound.rstd = at.get<float>(4);
    if (adds) bound.addend = at.get(5);
    bound.y = at.get(next);
    bound.dgamma = at.get<float>(next + 1);
    bound.dbeta = at.get<float>(next + 2);
    bound.partials = at.get<float>(next + 3);
    run_layer_norm_grad(bound, at.stream);
  });
}

void add_layer_norm_builders(OpBuilders& table) {
  table["layer_norm"] = {build_layer_norm};
  table["layer_norm_grad"] = {
      [](Builder& b, const Node& node) { emit_layer_norm_grad(b, node, -1, -1); }};
}

}  // namespace stoker::cuda
