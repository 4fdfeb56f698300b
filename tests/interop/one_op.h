// One call of an op as a graph, with what the reference makes of it.
#pragma once

#include "engine/reference/reference_backend.h"
#include "support/op_cases.h"
#include "support/run_op.h"

namespace stoker::test {

// Inputs are graph inputs: a kernel, too, comes as data.
struct OneOp {
  Graph graph;
  std::vector<std::pair<std::string, Tensor>> inputs, outputs;

  OneOp(const std::string& op, const Attrs& attrs, const std::vector<Tensor>& tensors) {
    Values operands;
    for (const Tensor& tensor : tensors) {
      std::string name = "input" + std::to_string(operands.size());
      inputs.emplace_back(name, tensor);
      operands.push_back(graph.input(name, tensor.spec()));
    }
    Graph::Scope scope(graph, "layer");
    graph.output(graph.add(OpRegistry::get().find(op), operands, attrs)[0], "output");
    outputs.emplace_back("output", run_op(reference_backend(), op, attrs, tensors)[0]);
  }
};

}  // namespace stoker::test
