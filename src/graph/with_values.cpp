#include <stoker/with_values.h>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/placement.h"
#include "graph/substitution.h"

namespace stoker {

namespace {

// The value in the graph, with the variable's dtype where both are floats.
Value standing_for(Graph& graph, const Variable& variable, const Value& value) {
  if (!value.defined())
    throw ValueError(
        fmt::format("with_values: the value for \"{}\" is undefined", variable.name()));
  Value placed = place(graph, value);
  if (is_floating(placed.dtype()) && is_floating(variable.dtype()))
    placed = ops::cast(placed, variable.dtype());
  if (placed.spec() != variable.spec())
    throw ShapeError(fmt::format("with_values: variable \"{}\" holds {}, got {} for it",
                                 variable.name(), to_string(variable.spec()),
                                 to_string(value.spec())));
  return placed;
}

}  // namespace

Values with_values(const std::vector<Variable>& variables, const Values& values,
                   const std::function<Values()>& body) {
  if (variables.size() != values.size())
    throw ValueError(fmt::format("with_values: got {} variables and {} values; one for each",
                                 variables.size(), values.size()));
  Graph* graph = Graph::current();
  if (graph == nullptr)
    throw Error(
        "with_values: nothing is traced here; call it inside function(), Layer::call or a "
        "train_step");
  Values placed;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!variables[i].defined())
      throw ValueError(fmt::format("with_values: variable {} is undefined", i));
    placed.push_back(standing_for(*graph, variables[i], values[i]));
  }
  Substitution substitution(*graph, variables, placed);
  return body();
}

}  // namespace stoker
