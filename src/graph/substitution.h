// Values that stand for variables while part of a graph is traced (stoker/with_values.h).
#pragma once

#include <unordered_map>
#include <vector>

#include <stoker/value.h>

#include "graph/graph.h"

namespace stoker {

// A note of the graph, by Variable::id(). A Value that is made of a variable and Graph::read() look here
// first; assign() refuses what is here.
using Substitutes = std::unordered_map<const void*, Value>;

// While it lives, reads of the variables in this graph, and in bodies of loops inside it, give the
// values: traced in this graph, of the variables' specs.
class Substitution {
 public:
  Substitution(Graph& graph, const std::vector<Variable>& variables, const Values& values)
      : graph_(graph), before_(graph.notes<Substitutes>()) {
    for (size_t i = 0; i < variables.size(); ++i)
      graph.notes<Substitutes>()[variables[i].id()] = values[i];
  }
  ~Substitution() { graph_.notes<Substitutes>() = std::move(before_); }
  Substitution(const Substitution&) = delete;
  Substitution& operator=(const Substitution&) = delete;

 private:
  Graph& graph_;
  Substitutes before_;
};

// What stands for the variable in this graph or one around it; undefined: nothing does.
inline Value substitute_for(Graph* graph, const Variable& variable) {
  for (; graph != nullptr; graph = graph->outer()) {
    const Substitutes& known = graph->notes<Substitutes>();
    if (auto found = known.find(variable.id()); found != known.end()) return found->second;
  }
  return {};
}

}  // namespace stoker
