#include <fmt/format.h>

#include "base/convert.h"
#include "base/visit_dtype.h"
#include "engine/backend.h"

namespace stoker {

namespace {

void check_limit(const GraphInput& input, const Tensor& tensor) {
  visit_numeric(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      const T* values = tensor.data<T>();
      for (int64_t i = 0; i < tensor.elements(); ++i) {
        auto value = int64_t(values[i]);
        if (value < 0 || value >= input.limit->limit)
          throw ValueError(fmt::format("input \"{}\": {} {} at element {} is outside [0, {})",
                                       input.name, input.limit->what, value, i,
                                       input.limit->limit));
      }
    }
  });
}

}  // namespace

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
    if (expected[i].limit) check_limit(expected[i], inputs[i]);
  }
}

}  // namespace stoker
