#include <algorithm>
#include <map>

#include "graph/passes/passes.h"

namespace stoker::passes {

namespace {

// Two calls of a user's function may differ: it may count, draw or print.
bool may_merge(const Node& node) { return node.op->name != "host_call"; }

}  // namespace

int merge_duplicates(Graph& graph) {
  std::multimap<std::pair<const OpDef*, std::vector<int>>, const Node*> seen;
  int merged = 0;
  for (const Node& node : graph.nodes()) {
    if (!may_merge(node)) continue;
    auto [first, last] = seen.equal_range({node.op, node.inputs});
    auto same = std::find_if(first, last,
                             [&](const auto& entry) { return entry.second->attrs == node.attrs; });
    if (same == last) {
      seen.insert({{node.op, node.inputs}, &node});
      continue;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
      graph.replace_uses(node.outputs[i], same->second->outputs[i]);
    ++merged;
  }
  graph.remove_dead_nodes();
  return merged;
}

}  // namespace stoker::passes
