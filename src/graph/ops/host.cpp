// host_call.
#include <fmt/format.h>

#include "base/host_function.h"
#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

using Function = std::shared_ptr<const HostFunction>;

std::vector<TensorSpec> infer_host_call(const Attrs& attrs, Specs inputs) {
  const auto& function = attrs.get<Function>("function");
  std::vector<TensorSpec> outputs = function->infer(inputs);
  for (const TensorSpec& output : outputs)
    if (!output.shape.is_known())
      throw ShapeError(fmt::format("\"{}\" gave an output without a concrete shape: {}",
                                   function->name, to_string(output)));
  return outputs;
}

// The function's own gradient: inputs, outputs, output gradients (zeros where the loss does not
// depend on an output) → input gradients.
Values host_call_gradient(const GradientCall& call) {
  const auto& function = call.attrs.get<Function>("function");
  if (function->gradient == nullptr)
    throw Error(
        fmt::format("the host function \"{}\" has no gradient; give it one. Only where the loss is "
                    "meant to treat its result as a constant, put ops::stop_gradient around it",
                    function->name));
  Values operands = call.inputs;
  operands.insert(operands.end(), call.outputs.begin(), call.outputs.end());
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const TensorSpec& spec = call.outputs[i].spec();
    Value zero = call.graph.number(Tensor::zeros({}, spec.dtype));
    operands.push_back(call.output_gradients[i].defined() ? call.output_gradients[i]
                                                          : emit::broadcast_to(zero, spec.shape));
  }
  return apply("host_call", operands, {{"function", function->gradient}});
}

}  // namespace

void register_host_ops(OpRegistry& registry) {
  // What a user's function computes is not known; its memory is.
  registry.add({.name = "host_call",
                .infer = infer_host_call,
                .gradient = host_call_gradient,
                .cost = no_flops(),
                .dtypes = {},
                .traits = {.calls_host = true}});
}

}  // namespace stoker
