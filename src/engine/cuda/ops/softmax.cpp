#include "engine/cuda/kernels/softmax.h"

#include <map>

#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

const std::map<std::string_view, SoftmaxOp>& ops() {
  static const std::map<std::string_view, SoftmaxOp> all = {
      {"softmax", SoftmaxOp::softmax},
      {"softmax_grad", SoftmaxOp::softmax_grad},
      {"log_softmax", SoftmaxOp::log_softmax},
      {"log_softmax_grad", SoftmaxOp::log_softmax_grad},
      {"sparse_softmax_cross_entropy", SoftmaxOp::sparse_loss},
      {"sparse_softmax_cross_entropy_grad", SoftmaxOp::sparse_loss_grad},
      {"softmax_cross_entropy", SoftmaxOp::loss},
      {"softmax_cross_entropy_grad", SoftmaxOp::loss_grad},
  };
  return all;
}

SoftmaxCall call_of(const Builder& b, const Node& node) {
  SoftmaxCall call;
  call.op = ops().at(node.op->name);
  const TensorSpec& x = b.spec(node.inputs[0]);
  call.dtype = x.dtype;
  call.classes = x.shape[-1];
  call.rows = call.classes == 0 ? 0 : x.shape.elements() / call.classes;
  if (node.inputs.size() > 1) call.second_dtype = b.spec(node.inputs[1]).dtype;
  return call;
}

void bind(SoftmaxCall& call, size_t inputs, const Launch& at) {
  call.x = at.get(0);
  if (inputs > 1) call.second = at.get(1);
  if (inputs > 2) call.third = at.get<const float>(2);
}

void build_softmax(Builder& b, const Node& node) {
  SoftmaxCall call = call_of(b, node);
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.input(value));
  bool is_gradient = node.op->name.ends_with("_grad");
  int y = is_gradient ? b.define_over(node.outputs[0], {reads[0]}) : b.define(node.outputs[0]);
  size_t inputs = reads.size();
  b.emit({"own:softmax", std::move(reads), {y}}, [call, inputs](const Launch& at) {
    SoftmaxCall bound = call;
    bind(bound, inputs, at);
    bound.out = at.get(inputs);
    run_softmax(bound, at.stream);
  });
}

// Where rows are long, the loss leaves their normalizers to its gradient.
void build_sparse_loss(Builder& b, const Node& node) {
  SoftmaxCall call = call_of(b, node);
  if (!has_long_rows(call.dtype, call.classes)) return build_softmax(b, node);
  int x = b.input(node.inputs[0]), labels = b.input(node.inputs[1]),
      loss = b.define(node.outputs[0]);
  int normalizers = b.kept(size_t(call.rows) * sizeof(float2));
  b.attachments()[node.outputs[0]] = normalizers;
  b.emit({"own:softmax", {x, labels}, {loss, normalizers}}, [call](const Launch& at) {
    SoftmaxCall bound = call;
    bind(bound, 2, at);
    bound.out = at.get(2);
    bound.normalizers = at.get<float2>(3);
    run_long_loss(bound, at.stream);
  });
}

// What the loss of the same logits and labels has left, or -1.
int normalizers_for(Builder& b, const Node& node) {
  for (const Node& other : b.graph().nodes()) {
    if (!other.is("sparse_softmax_cross_entropy") || other.inputs[0] != node.inputs[0] ||
        other.inputs[1] != node.inputs[1])
      continue;
    auto found = b.attachments().find(other.outputs[0]);
    if (found != b.attachments().end()) return found->second;
  }
  return -1;
}

void build_sparse_loss_grad(Builder& b, const Node& node) {
  SoftmaxCall call = call_of(b, node);
  int normalizers = normalizers_for(b, node);
  if (normalizers < 0) return build_softmax(b, node);
  int x = b.input(node.inputs[0]), labels = b.input(node.inputs[1]),
      slopes = b.input(node.inputs[2]), dx = b.define_over(node.outputs[0], {x});
  b.emit({"own:softmax", {x, labels, slopes, normalizers}, {dx}}, [call](const Launch& at) {
    SoftmaxCall bound = call;
    bind(bound, 3, at);
    bound.normalizers = at.get<float2>(3);
    bound.out = at.get(4);
    run_long_loss(bound, at.stream);
  });
}

}  // namespace

void add_softmax_builders(OpBuilders& table) {
  for (const auto& [name, op] : ops()) table[name] = {build_softmax};
  table["sparse_softmax_cross_entropy"] = {build_sparse_loss};
  table["sparse_softmax_cross_entropy_grad"] = {build_sparse_loss_grad};
}

}  // namespace stoker::cuda
