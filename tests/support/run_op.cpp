#include "support/run_op.h"

#include <fmt/format.h>

#include "engine/reference/reference_backend.h"

namespace stoker::test {

Backend& exact_reference() {
  static const std::unique_ptr<Backend> backend = make_reference_backend({.exact = true});
  return *backend;
}

std::vector<Tensor> run_op(Backend& backend, const std::string& op, const Attrs& attrs,
                           const std::vector<Tensor>& inputs) {
  Graph graph;
  Values operands;
  std::vector<Tensor> copies;
  for (const Tensor& input : inputs) {
    operands.push_back(graph.input(fmt::format("input{}", operands.size()), input.spec()));
    copies.push_back(input.clone());
  }
  Values results = graph.add(OpRegistry::get().find(op), operands, attrs);
  for (const Value& result : results) graph.output(result, "output");
  std::unique_ptr<Program> program = backend.compile(graph, {});
  program->run(inputs);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) outputs.push_back(program->output(i));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!(inputs[i] == copies[i]))
      throw Error(fmt::format("{}: {} overwrote its input {}", op, backend.name(), i));
  return outputs;
}

}  // namespace stoker::test
