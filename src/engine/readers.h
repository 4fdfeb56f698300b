// Who reads the values of a graph: what patterns of nodes are recognised by.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace stoker {

class Readers {
 public:
  // The graph must stay as it is.
  explicit Readers(const Graph& graph) : graph_(graph), uses_(graph.use_counts()) {}

  const Graph& graph() const { return graph_; }
  int index_of(const Node* node) const { return int(node - graph_.nodes().data()); }
  // By operands of nodes, outputs, assignments, guard and gate.
  int uses(int value) const { return uses_[size_t(value)]; }
  // The nodes that read it, in their order.
  std::vector<const Node*> of(int value) const;
  // The same where nothing else uses it; else none.
  std::vector<const Node*> all_of(int value) const;
  // The one node that reads it, once, if nothing else uses it; else null.
  const Node* only(int value) const;

 private:
  const Graph& graph_;
  std::vector<int> uses_;
};

}  // namespace stoker
