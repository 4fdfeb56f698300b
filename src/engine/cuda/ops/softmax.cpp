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

void build_softmax(Builder& b, const Node& node) {
  SoftmaxCall call;
  call.op = ops().at(node.op->name);
  const TensorSpec& x = b.spec(node.inputs[0]);
  call.dtype = x.dtype;
  call.classes = x.shape[-1];
  call.rows = call.classes == 0 ? 0 : x.shape.elements() / call.classes;
  if (node.inputs.size() > 1) call.second_dtype = b.spec(node.inputs[1]).dtype;
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.input(value));
  int y = b.define(node.outputs[0]);
  size_t inputs = reads.size();
  b.emit({"own:softmax", std::move(reads), {y}}, [call, inputs](const Launch& at) {
    SoftmaxCall bound = call;
    bound.x = at.get(0);
    if (inputs > 1) bound.second = at.get(1);
    if (inputs > 2) bound.third = at.get<const float>(2);
    bound.out = at.get(inputs);
    run_softmax(bound, at.stream);
  });
}

}  // namespace

void add_softmax_builders(OpBuilders& table) {
  for (const auto& [name, op] : ops()) table[name] = {build_softmax};
}

}  // namespace stoker::cuda
