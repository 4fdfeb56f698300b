// Replacing many values in one walk: a walk for each would take time in the square of the nodes.
#pragma once

#include <numeric>
#include <vector>

#include "graph/graph.h"

namespace stoker::passes {

class Replacements {
 public:
  explicit Replacements(const Graph& graph) : to_(graph.values().size()) {
    std::iota(to_.begin(), to_.end(), 0);
  }
  // `to` is final: it is replaced by nothing itself.
  void add(int from, int to) { to_[size_t(from)] = to; }
  int operator()(int value) const { return to_[size_t(value)]; }
  // In nodes and everything that is read after them.
  void apply(Graph& graph) const;

 private:
  std::vector<int> to_;  // by value
};

}  // namespace stoker::passes
