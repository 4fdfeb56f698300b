// The constraints of the weights that a graph trains. A layer notes them when it is called in the
// graph; the optimiser applies them to what it assigns.
#pragma once

#include <map>

#include <stoker/constraints.h>

#include "graph/graph.h"

namespace stoker {

struct WeightConstraints {
  std::map<const void*, Constraint> of;  // by Variable::id()
};

inline void note_constraint(Graph& graph, const Variable& weight, const Constraint& constraint) {
  graph.notes<WeightConstraints>().of.insert_or_assign(weight.id(), constraint);
}

// None where the weight has none.
inline Constraint constraint_of(Graph& graph, const Variable& weight) {
  const auto& all = graph.notes<WeightConstraints>().of;
  auto found = all.find(weight.id());
  return found == all.end() ? Constraint() : found->second;
}

}  // namespace stoker
