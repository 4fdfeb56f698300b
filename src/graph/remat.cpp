#include "graph/remat.h"

namespace stoker {

void mark_for_remat(Graph& graph, size_t first) {
  auto region = int(graph.nodes().size());  // where it ends: others do there only inside it
  auto& regions = graph.notes<RematRegions>().of;
  for (size_t i = first; i < graph.nodes().size(); ++i)
    for (int id : graph.nodes()[i].outputs) regions[id] = region;
}

Recomputed::Recomputed(Graph& graph, size_t last)
    : graph_(graph), regions_(graph.notes<RematRegions>()) {
  if (regions_.of.empty()) return;
  kept_.resize(graph.values().size());
  for (size_t i = 0; i < last; ++i)
    for (int id : graph.nodes()[i].inputs)
      if (auto from = regions_.of.find(id);
          from != regions_.of.end() && from->second != region_of(graph.nodes()[i]))
        kept_[size_t(id)] = true;
  for (const GraphOutput& output : graph.outputs()) kept_[size_t(output.value)] = true;
}

int Recomputed::region_of(const Node& node) const {
  auto found = node.outputs.empty() ? regions_.of.end() : regions_.of.find(node.outputs[0]);
  return found == regions_.of.end() ? 0 : found->second;
}

bool Recomputed::is_kept(const Node& reader, int id) const {
  const Node* from = graph_.producer(id);
  int region = from != nullptr ? region_of(*from) : 0;
  return region == 0 || region != region_of(reader) || kept_[size_t(id)] ||
         from->traits().calls_host || from->traits().updates_variables;
}

Value Recomputed::value(const Node& reader, int id) {
  if (kept_.empty() || is_kept(reader, id)) return graph_.value(id);
  if (!copies_.contains(id)) copy(*graph_.producer(id));
  return graph_.value(copies_.at(id));
}

void Recomputed::copy(Node node) {  // by value: the graph grows
  Values inputs;
  inputs.reserve(node.inputs.size());
  for (int id : node.inputs) inputs.push_back(value(node, id));
  Attrs attrs = node.attrs;
  attrs.set(kRecomputed, int64_t(region_of(node)));
  Graph::Scope layer(graph_, node.scope);
  Values outputs = graph_.add(*node.op, inputs, std::move(attrs));
  for (size_t i = 0; i < outputs.size(); ++i) copies_[node.outputs[i]] = outputs[i].traced()->id;
}

}  // namespace stoker
