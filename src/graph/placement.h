// Where an op or a layer puts its result: the graph or the sketch that its inputs belong to.
#pragma once

#include <string_view>

#include <stoker/value.h>

namespace stoker {

// The graph of the inputs, or of the innermost Graph::Scope where none of them belongs to anything;
// null when they are sketched. Error when an input is undefined, when traced and sketched inputs or
// two graphs meet, or when there is no graph at all. `what` names the caller in it.
Graph* graph_of(std::string_view what, const Values& inputs);

// The value inside a graph: variables, constants and scalars join it, traced values are in one.
Value place(Graph& graph, const Value& value);
Values place(Graph& graph, const Values& values);

}  // namespace stoker
