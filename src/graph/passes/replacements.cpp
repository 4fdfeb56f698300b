#include "graph/passes/replacements.h"

#include <algorithm>

namespace stoker::passes {

void Replacements::apply(Graph& graph) const {
  for (Node& node : graph.mutable_nodes())
    for (int& input : node.inputs) input = (*this)(input);
  std::vector<int> results = {graph.guard(), graph.gate()};
  for (const GraphOutput& output : graph.outputs()) results.push_back(output.value);
  for (const Assignment& assignment : graph.assignments()) results.push_back(assignment.value);
  for (int value : results)
    if (value >= 0 && (*this)(value) != value) graph.replace_uses(value, (*this)(value));
}

}  // namespace stoker::passes
