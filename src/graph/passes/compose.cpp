#include "graph/ops/attention.h"
#include "graph/passes/passes.h"
#include "graph/passes/replacements.h"
#include "graph/remat.h"

namespace stoker::passes {

namespace {

Values composed(Graph& graph, const Node& node) {
  Values inputs;
  for (int id : node.inputs) inputs.push_back(graph.value(id));
  return node.is("attention") ? compose_attention(node.attrs, inputs)
                              : compose_attention_grad(node.attrs, inputs);
}

}  // namespace

bool is_composable(std::string_view op) { return op == "attention" || op == "attention_grad"; }

int compose_attention(Graph& graph, const std::function<bool(const Node&)>& has_kernel) {
  // Compositions are appended first, while every value knows its node, and moved to their places
  // then.
  struct Part {
    size_t node, first, last;
    Values results;
  };
  std::vector<Part> parts;
  const size_t written = graph.nodes().size();
  for (size_t i = 0; i < written; ++i) {
    Node node = graph.nodes()[i];
    if (!is_composable(node.op->name) || has_kernel(node)) continue;
    Graph::Scope scope(graph, node.scope);
    Graph::Scope phase(graph, node.phase);
    size_t first = graph.nodes().size();
    Values results = composed(graph, node);
    if (const Attr* region = node.attrs.find(kRecomputed))
      for (size_t at = first; at < graph.nodes().size(); ++at)
        graph.mutable_nodes()[at].attrs.set(kRecomputed, *region);
    parts.push_back({i, first, graph.nodes().size(), results});
  }
  if (parts.empty()) return 0;
  Replacements replacements(graph);
  for (const Part& part : parts)
    for (size_t i = 0; i < part.results.size(); ++i)
      replacements.add(graph.nodes()[part.node].outputs[i], part.results[i].traced()->id);
  std::vector<Node> all = std::move(graph.mutable_nodes()), ordered;
  auto next = parts.begin();
  for (size_t i = 0; i < written; ++i) {
    if (next == parts.end() || next->node != i) {
      ordered.push_back(std::move(all[i]));
      continue;
    }
    for (size_t at = next->first; at < next->last; ++at) ordered.push_back(std::move(all[at]));
    ++next;
  }
  graph.mutable_nodes() = std::move(ordered);
  replacements.apply(graph);
  graph.remove_dead_nodes();  // also tells the values where their nodes are now
  return int(parts.size());
}

}  // namespace stoker::passes
