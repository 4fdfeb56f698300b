#include "compress/plan_walk.h"

#include "train/model/topology.h"

namespace stoker::compress {

Value PlanWalk::operand(const Operand& operand) {
  if (operand.edge >= 0) return at(operand.edge);
  return operand.value.variable() ? Value(weight_for(*operand.value.variable())) : operand.value;
}

void PlanWalk::call(const Step& step) {
  Values inputs, results;
  for (const Operand& one : step.inputs) inputs.push_back(operand(one));
  if (step.layer.shared() == nullptr) {
    const auto& op = std::get<SketchOp>(step.node->what);
    results = stoker::apply(op.op, inputs, op.attrs);
  } else {
    CallOptions options;
    if (const LayerCall* call = step.node == nullptr ? nullptr : call_of(*step.node)) {
      options.training = call->training;
      options.arguments = call->arguments;
      if (!step.masks.empty()) options.mask.resize(inputs.size());
      for (size_t i = 0; i < step.masks.size(); ++i)
        options.mask[call->masked[i]] = operand(step.masks[i]);
    }
    results = layer_for(step.layer, step.path).call_all(inputs, options);
  }
  if (step.batch_norm.shared())
    results = {layer_for(step.batch_norm, step.batch_norm_path)(results[0])};
  if (step.activation.shared())
    results = {layer_for(step.activation, step.activation_path)(results[0])};
  for (size_t i = 0; i < results.size(); ++i) values_[step.outputs[i]] = results[i];
}

}  // namespace stoker::compress
