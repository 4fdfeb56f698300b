// Where an op or a layer puts its result: the graph or the sketch that its inputs belong to.
#pragma once

#include <string_view>

#include <stoker/value.h>

namespace stoker {

struct Placement {
  Graph* graph = nullptr;  // null: sketched
};

// Error when an input is undefined, when traced and sketched inputs or two graphs meet, or when no
// input belongs to anything and no Graph::Scope is open. `what` names the caller in it.
Placement find_placement(std::string_view what, const Values& inputs);

// The value inside a graph: variables, constants and scalars join it, traced values stay as they
// are.
Value place(Graph& graph, const Value& value);
Values place(Graph& graph, const Values& values);

}  // namespace stoker
