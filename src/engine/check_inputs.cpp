#include <fmt/format.h>

#include "engine/backend.h"
#include "engine/input_limits.h"

namespace stoker {

void check_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  const std::vector<GraphInput>& expected = graph.inputs();
  if (inputs.size() != expected.size()) {
    std::string names;
    for (const GraphInput& input : expected)
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", input.name);
    throw ShapeError(fmt::format("a program with {} inputs ({}) was given {}", expected.size(),
                                 names, inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = graph.spec(expected[i].value);
    if (!inputs[i].defined())
      throw ShapeError(fmt::format("input \"{}\": expected {}, got an undefined tensor",
                                   expected[i].name, to_string(spec)));
    if (inputs[i].spec() != spec)
      throw ShapeError(fmt::format("input \"{}\": expected {}, got {}", expected[i].name,
                                   to_string(spec), to_string(inputs[i].spec())));
    std::string wrong =
        expected[i].limit ? limit_violation(*expected[i].limit, inputs[i]) : std::string();
    if (!wrong.empty()) throw ValueError(fmt::format("input \"{}\": {}", expected[i].name, wrong));
  }
}

}  // namespace stoker
