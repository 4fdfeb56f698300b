#include <algorithm>

#include "engine/cuda/kernels/norm.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

struct Matrix {
  int64_t rows = 1, columns = 1;
  explicit Matrix(const Shape& shape, int trailing = 1) {
    for (int axis = 0; axis < shape.rank(); ++axis)
      (axis < shape.rank() - trailing ? rows : columns) *= shape[axis];
  }
};

bool has_relu(const Node& node) {
  return node.attrs.get_or<std::string>("activation", "") == "relu";
}

// x, mean, variance, gamma, beta [, residual] → y
void emit_apply(Builder& b, const Node& norm, int mean, int variance, int residual, bool relu,
                int value) {
  NormApply call;
  Matrix x(b.shape(norm.inputs[0]));
  call.dtype = b.spec(norm.inputs[0]).dtype;
  call.rows = x.rows;
  call.channels = x.columns;
  call.epsilon = float(norm.attrs.get<double>("epsilon"));
  call.relu = relu;
  int from = b.input(norm.inputs[0]);
  std::vector<int> reads = {from, mean, variance, b.input(norm.inputs[1]), b.input(norm.inputs[2])};
  if (residual >= 0) reads.push_back(b.input(residual));
  int y = b.define_over(value, {residual >= 0 ? reads.back() : -1, from});
  b.emit({"own:norm", reads, {y}}, [call, residual](const Launch& at) {
    NormApply bound = call;
    bound.x = at.get(0);
    bound.mean = at.get<const float>(1);
    bound.variance = at.get<const float>(2);
    bound.gamma = at.get<const float>(3);
    bound.beta = at.get<const float>(4);
    bound.residual = residual >= 0 ? at.get(5) : nullptr;
    bound.y = at.get(residual >= 0 ? 6 : 5);
    run_norm_apply(bound, at.stream);
  });
}

void build_batch_norm(Builder& b, const Node& node) {
  ColumnCall call;
  Matrix x(b.shape(node.inputs[0]));
  call.what = ColumnSums::statistics;
  call.dtype = b.spec(node.inputs[0]).dtype;
  call.rows = x.rows;
  call.channels = x.columns;
  call.plan = plan_columns(call.dtype, x.rows, x.columns);
  int from = b.input(node.inputs[0]);
  int partials = b.scratch(call.plan.partial_bytes), counters = b.zeroed(call.plan.counter_bytes);
  int mean = b.define(node.outputs[1]), variance = b.define(node.outputs[2]);
  b.emit({"own:columns", {from}, {mean, variance, partials, counters}, "batch_norm_statistics"},
         [call](const Launch& at) {
           ColumnCall bound = call;
           bound.x = at.get(0);
           bound.out = at.get(1);
           bound.second_out = at.get<float>(2);
           bound.partials = at.get(3);
           bound.counters = at.get<unsigned>(4);
           run_column_sums(bound, at.stream);
         });
  bool later = std::ranges::any_of(
      b.fusion().tails, [&](const auto& tail) { return tail && tail->norm == b.node_index(); });
  if (!later) emit_apply(b, node, mean, variance, -1, has_relu(node), node.outputs[0]);
}

void build_inference(Builder& b, const Node& node) {
  emit_apply(b, node, b.input(node.inputs[3]), b.input(node.inputs[4]), -1, has_relu(node),
             node.outputs[0]);
}

// The batch norm with relu whose result `y` is, if its beta can still be read: then the mask need
// not be.
const Node* masking_norm(const Builder& b, const Node& node) {
  const Node* norm = b.graph().producer(node.inputs[5]);
  bool known = norm != nullptr && norm->op->name == "batch_norm" &&
               norm->outputs[0] == node.inputs[5] && norm->inputs[0] == node.inputs[1] &&
               norm->outputs[1] == node.inputs[3] && norm->inputs[1] == node.inputs[2];
  return known && b.graph().producer(norm->inputs[2]) == nullptr ? norm : nullptr;
}

// The operands of both kernels: dy, x, mean, variance, gamma, then y or beta where there is a mask.
struct GradOperands {
  std::vector<int> reads;
  ReluMask mask = ReluMask::none;
};

GradOperands grad_operands(Builder& b, const Node& node) {
  GradOperands found;
  for (size_t i : {0, 1, 3, 4, 2}) found.reads.push_back(b.input(node.inputs[i]));
  if (node.inputs.size() <= 5) return found;
  const Node* norm = masking_norm(b, node);
  found.mask = norm != nullptr ? ReluMask::from_x : ReluMask::from_y;
  found.reads.push_back(b.input(norm != nullptr ? norm->inputs[2] : node.inputs[5]));
  return found;
}

template <class Call>
void bind_grad(Call& call, const Launch& at) {
  call.dy = at.get(0);
  call.x = at.get(1);
  call.mean = at.get<const float>(2);
  call.variance = at.get<const float>(3);
  call.gamma = at.get<const float>(4);
  if (call.mask == ReluMask::from_y) call.y = at.get(5);
  if (call.mask == ReluMask::from_x) call.beta = at.get<const float>(5);
}

ColumnCall grad_sums(const Builder& b, const Node& node, ReluMask mask) {
  Matrix x(b.shape(node.inputs[1]));
  ColumnCall sums;
  sums.what = ColumnSums::gradients;
  sums.mask = mask;
  sums.dtype = b.spec(node.inputs[1]).dtype;
  sums.rows = x.rows;
  sums.channels = x.columns;
  sums.epsilon = float(node.attrs.get<double>("epsilon"));
  sums.plan = plan_columns(sums.dtype, x.rows, x.columns);
  return sums;
}

void emit_input_grad(Builder& b, const Node& node, const GradOperands& operands, int dgamma,
                     int dbeta) {
  ColumnCall like = grad_sums(b, node, operands.mask);
  NormInputGrad call;
  call.mask = like.mask;
  call.dtype = like.dtype;
  call.rows = like.rows;
  call.channels = like.channels;
  call.epsilon = like.epsilon;
  std::vector<int> reads = operands.reads;
  size_t next = reads.size();
  reads.insert(reads.end(), {dgamma, dbeta});
  int dx = b.define_over(node.outputs[0], {reads[0], reads[1]});
  b.emit({"own:norm", reads, {dx}}, [call, next](const Launch& at) {
    NormInputGrad bound = call;
    bind_grad(bound, at);
    bound.dgamma = at.get<const float>(next);
    bound.dbeta = at.get<const float>(next + 1);
    bound.dx = at.get(next + 2);
    run_norm_input_grad(bound, at.stream);
  });
}

// dy is made by the sums themselves: first, second → dz. Operands: first, x, mean, variance, gamma,
// y, second.
void emit_joined_grad(Builder& b, const Node& node, const Fusion::Join& join) {
  ColumnCall sums = grad_sums(b, node, ReluMask::from_y);
  std::vector<int> reads = {b.input(join.first)};
  for (size_t i : {1, 3, 4, 2}) reads.push_back(b.input(node.inputs[i]));
  reads.insert(reads.end(), {b.input(join.y), b.input(join.second)});
  int partials = b.scratch(sums.plan.partial_bytes), counters = b.zeroed(sums.plan.counter_bytes);
  int dgamma = b.define(node.outputs[1]), dbeta = b.define(node.outputs[2]);
  int dz = b.define(node.inputs[0]);
  b.emit({"own:columns", reads, {dbeta, dgamma, partials, counters, dz}, "batch_norm_grad_sums"},
         [sums](const Launch& at) {
           ColumnCall bound = sums;
           bind_grad(bound, at);
           bound.second_dy = at.get(6);
           bound.out = at.get(7);
           bound.second_out = at.get<float>(8);
           bound.partials = at.get(9);
           bound.counters = at.get<unsigned>(10);
           bound.dz = at.get(11);
           run_column_sums(bound, at.stream);
         });
  GradOperands operands;
  operands.reads = {dz, reads[1], reads[2], reads[3], reads[4]};
  emit_input_grad(b, node, operands, dgamma, dbeta);
}

void build_batch_norm_grad(Builder& b, const Node& node) {
  if (const auto& join = b.fusion().joins[size_t(b.node_index())])
    return emit_joined_grad(b, node, *join);
  GradOperands operands = grad_operands(b, node);
  ColumnCall sums = grad_sums(b, node, operands.mask);
  size_t next = operands.reads.size();
  int partials = b.scratch(sums.plan.partial_bytes), counters = b.zeroed(sums.plan.counter_bytes);
  int dgamma = b.define(node.outputs[1]), dbeta = b.define(node.outputs[2]);
  b.emit(
      {"own:columns", operands.reads, {dbeta, dgamma, partials, counters}, "batch_norm_grad_sums"},
      [sums, next](const Launch& at) {
        ColumnCall bound = sums;
        bind_grad(bound, at);
        bound.out = at.get(next);
        bound.second_out = at.get<float>(next + 1);
        bound.partials = at.get(next + 2);
        bound.counters = at.get<unsigned>(next + 3);
        run_column_sums(bound, at.stream);
      });
  emit_input_grad(b, node, operands, dgamma, dbeta);
}

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

// dy, x, gamma, mean, rstd → dx, dgamma, dbeta
void build_layer_norm_grad(Builder& b, const Node& node) {
  LayerNorm call = layer_norm_of(b, node, 1);
  std::vector<int> reads, writes;
  for (int value : node.inputs) reads.push_back(b.input(value));
  for (int value : node.outputs) writes.push_back(b.define(value));
  writes.push_back(b.scratch(size_t(layer_norm_splits(call.rows, call.features)) * 2 *
                             size_t(call.features) * sizeof(float)));
  b.emit({"own:layer_norm", reads, writes}, [call](const Launch& at) {
    LayerNorm bound = call;
    bound.dy = at.get(0);
    bound.x = at.get(1);
    bound.gamma = at.get<const float>(2);
    bound.mean = at.get<float>(3);
    bound.rstd = at.get<float>(4);
    bound.y = at.get(5);
    bound.dgamma = at.get<float>(6);
    bound.dbeta = at.get<float>(7);
    bound.partials = at.get<float>(8);
    run_layer_norm_grad(bound, at.stream);
  });
}

}  // namespace

void emit_norm_tail(Builder& b, const Fusion::NormTail& tail, int value) {
  const Node& norm = b.graph().nodes()[size_t(tail.norm)];
  emit_apply(b, norm, b.input(norm.outputs[1]), b.input(norm.outputs[2]), tail.residual, tail.relu,
             value);
}

void add_normalization_builders(OpBuilders& table) {
  table["batch_norm"] = {build_batch_norm};
  table["batch_norm_grad"] = {build_batch_norm_grad};
  table["batch_norm_inference"] = {build_inference};
  table["layer_norm"] = {build_layer_norm};
  table["layer_norm_grad"] = {build_layer_norm_grad};
}

}  // namespace stoker::cuda
