#include <algorithm>

#include "engine/cuda/ops/matrix.h"
#include "engine/cuda/ops/norm_terms.h"

namespace stoker::cuda {

void add_terms(Builder& b, const Node& norm, int mean, int variance, std::vector<int>& reads) {
  reads.insert(reads.end(), {mean, variance, b.input(norm.inputs[1]), b.input(norm.inputs[2])});
}

ColumnCall grad_sums(const Builder& b, const Node& node, const Shape& shape, ReluMask mask) {
  Matrix x(shape);
  ColumnCall sums;
  sums.what = ColumnSums::gradients;
  sums.mask = mask;
  sums.dtype = b.spec(node.inputs[1]).dtype;
  sums.rows = x.rows;
  sums.channels = x.columns;
  sums.epsilon = epsilon_of(node);
  sums.plan = plan_columns(sums.dtype, x.rows, x.columns);
  return sums;
}

namespace {

bool has_relu(const Node& node) {
  return node.attrs.get_or<std::string>("activation", "") == "relu";
}

// --- forward ---

// Whether a gradient wants to know where the relu that made `value` let something through.
bool wants_bits(const Builder& b, int value) {
  return std::ranges::any_of(b.fusion().joins,
                             [&](const auto& join) { return join && join->y == value; });
}

NormApply apply_call(const Builder& b, const Node& norm, bool relu) {
  Matrix x(b.shape(norm.inputs[0]));
  NormApply call;
  call.dtype = b.spec(norm.inputs[0]).dtype;
  call.rows = x.rows;
  call.channels = x.columns;
  call.relu = relu;
  return call;
}

// x, mean, variance, gamma, beta → y
void emit_apply(Builder& b, const Node& norm, int mean, int variance) {
  NormApply call = apply_call(b, norm, has_relu(norm));
  std::vector<int> reads = {b.input(norm.inputs[0])};
  add_terms(b, norm, mean, variance, reads);
  int y = b.define_over(norm.outputs[0], {reads[0]});
  b.emit({"own:norm", reads, {y}}, [call, epsilon = epsilon_of(norm)](const Launch& at) {
    NormApply bound = call;
    bound.x = at.get(0);
    bound.norm = bind_terms(at, 1, epsilon);
    bound.y = at.get(5);
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
  if (!b.fusion().is_normalized_later(b.node_index())) emit_apply(b, node, mean, variance);
}

void build_inference(Builder& b, const Node& node) {
  emit_apply(b, node, b.input(node.inputs[3]), b.input(node.inputs[4]));
}

// --- backward ---

// The batch norm with relu whose result `y` is, if its beta can still be read: then the mask need
// not be.
const Node* masking_norm(const Builder& b, const Node& node) {
  const Node* norm = b.graph().producer(node.inputs[5]);
  bool known = norm != nullptr && norm->is("batch_norm") && norm->outputs[0] == node.inputs[5] &&
               norm->inputs[0] == node.inputs[1] && norm->outputs[1] == node.inputs[3] &&
               norm->inputs[1] == node.inputs[2];
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

void bind_sums(ColumnCall& call, const Launch& at) {
  call.dy = at.get(0);
  call.x = at.get(1);
  call.mean = at.get<const float>(2);
  call.variance = at.get<const float>(3);
  call.gamma = at.get<const float>(4);
  if (call.mask == ReluMask::from_y) call.y = at.get(5);
  if (call.mask == ReluMask::from_x) call.beta = at.get<const float>(5);
}

NormInputGrad input_grad_call(const Builder& b, const Node& node, ReluMask mask) {
  Matrix x(b.shape(node.inputs[1]));
  NormInputGrad call;
  call.mask = mask;
  call.dtype = b.spec(node.inputs[1]).dtype;
  call.rows = x.rows;
  call.channels = x.columns;
  return call;
}

void emit_input_grad(Builder& b, const Node& node, const GradOperands& operands, int dgamma,
                     int dbeta) {
  NormInputGrad call = input_grad_call(b, node, operands.mask);
  std::vector<int> reads = operands.reads;
  size_t next = reads.size();
  reads.insert(reads.end(), {dgamma, dbeta});
  int dx = b.define_over(node.outputs[0], {reads[0], reads[1]});
  b.emit({"own:norm", reads, {dx}}, [call, next, epsilon = epsilon_of(node)](const Launch& at) {
    NormInputGrad bound = call;
    bound.dy = at.get(0);
    if (bound.mask == ReluMask::from_y) bound.y = at.get(5);
    bound.branch.x = at.get(1);
    bound.branch.norm = {at.get<const float>(2), at.get<const float>(3), at.get<const float>(4),
                         bound.mask == ReluMask::from_x ? at.get<const float>(5) : nullptr,
                         epsilon};
    bound.branch.dgamma = at.get<const float>(next);
    bound.branch.dbeta = at.get<const float>(next + 1);
    bound.branch.dx = at.get(next + 2);
    run_norm_input_grad(bound, at.stream);
  });
}

void build_batch_norm_grad(Builder& b, const Node& node) {
  if (const auto& join = b.fusion().joins[size_t(b.node_index())])
    return emit_joined_norm_grad(b, node, *join);
  GradOperands operands = grad_operands(b, node);
  ColumnCall sums = grad_sums(b, node, b.shape(node.inputs[1]), operands.mask);
  size_t next = operands.reads.size();
  int partials = b.scratch(sums.plan.partial_bytes), counters = b.zeroed(sums.plan.counter_bytes);
  int dgamma = b.define(node.outputs[1]), dbeta = b.define(node.outputs[2]);
  b.emit(
      {"own:columns", operands.reads, {dbeta, dgamma, partials, counters}, "batch_norm_grad_sums"},
      [sums, next](const Launch& at) {
        ColumnCall bound = sums;
        bind_sums(bound, at);
        bound.out = at.get(next);
        bound.second_out = at.get<float>(next + 1);
        bound.partials = at.get(next + 2);
        bound.counters = at.get<unsigned>(next + 3);
        run_column_sums(bound, at.stream);
      });
  emit_input_grad(b, node, operands, dgamma, dbeta);
}

}  // namespace

// x, its terms, the residual[, its terms] → y[, bits]
void emit_norm_tail(Builder& b, const Fusion::NormTail& tail, int value) {
  const Node& norm = b.graph().nodes()[size_t(tail.norm)];
  const Node* other =
      tail.residual_norm >= 0 ? &b.graph().nodes()[size_t(tail.residual_norm)] : nullptr;
  NormApply call = apply_call(b, norm, tail.relu);
  std::vector<int> reads = {b.input(norm.inputs[0])};
  add_terms(b, norm, b.input(norm.outputs[1]), b.input(norm.outputs[2]), reads);
  int residual = b.input(other != nullptr ? other->inputs[0] : tail.residual);
  reads.push_back(residual);
  if (other != nullptr)
    add_terms(b, *other, b.input(other->outputs[1]), b.input(other->outputs[2]), reads);
  std::vector<int> writes = {b.define_over(value, {residual, reads[0]})};
  bool noted = tail.relu && wants_bits(b, value);
  if (noted) {
    writes.push_back(b.kept(relu_bits_bytes(call.dtype, call.rows, call.channels)));
    b.attachments()[value] = writes[1];
  }
  size_t next = reads.size();
  float epsilon = epsilon_of(norm), other_epsilon = other != nullptr ? epsilon_of(*other) : 0;
  b.emit({"own:norm", reads, writes},
         [call, next, noted, normed = other != nullptr, epsilon, other_epsilon](const Launch& at) {
           NormApply bound = call;
           bound.x = at.get(0);
           bound.norm = bind_terms(at, 1, epsilon);
           bound.residual = at.get(5);
           if (normed) bound.residual_norm = bind_terms(at, 6, other_epsilon);
           bound.y = at.get(next);
           bound.bits = noted ? at.get<uint8_t>(next + 1) : nullptr;
           run_norm_apply(bound, at.stream);
         });
}

void add_batch_norm_builders(OpBuilders& table) {
  table["batch_norm"] = {build_batch_norm};
  table["batch_norm_grad"] = {build_batch_norm_grad};
  table["batch_norm_inference"] = {build_inference};
}

}  // namespace stoker::cuda
