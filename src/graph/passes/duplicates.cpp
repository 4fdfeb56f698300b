#include <algorithm>
#include <map>

#include "graph/passes/passes.h"
#include "graph/passes/replacements.h"

namespace stoker::passes {

namespace {

// A user's function may count, draw or print.
bool may_merge(const Node& node) { return !node.traits().calls_host; }

}  // namespace

int merge_duplicates(Graph& graph) {
  std::multimap<std::pair<const OpDef*, std::vector<int>>, const Node*> seen;
  Replacements replaced(graph);
  int merged = 0;
  for (Node& node : graph.mutable_nodes()) {
    for (int& input : node.inputs) input = replaced(input);
    if (!may_merge(node)) continue;
    auto [first, last] = seen.equal_range({node.op, node.inputs});
    auto same = std::find_if(first, last,
                             [&](const auto& entry) { return entry.second->attrs == node.attrs; });
    if (same == last) {
      seen.insert({{node.op, node.inputs}, &node});
      continue;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
      replaced.add(node.outputs[i], same->second->outputs[i]);
    ++merged;
  }
  replaced.apply(graph);
  graph.remove_dead_nodes();
  return merged;
}

}  // namespace stoker::passes
