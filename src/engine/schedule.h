// In which order an engine runs a graph's nodes, and what a run leaves behind: the same for every
// engine that plans its memory.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace stoker {

struct Schedule {
  static constexpr int kForEver = 1 << 30;

  // Knows of outputs, guard, gate and assignments. When nodes read their operands is for the engine
  // to say: one that another one's kernel includes reads them when that one runs.
  explicit Schedule(const Graph& graph);

  void use(int value, int position);
  // Once all uses are known: bytes are in use as long as any of their names is.
  void extend_shared(const Graph& graph);

  // Nodes: collectives as soon as their operands are there, so that the rest runs meanwhile; updates
  // whose results are only assigned come last.
  std::vector<int> order;
  size_t first_update = 0;       // in `order`
  std::vector<int> last_use;     // by value: position in `order`, kForEver, or -1
  std::vector<int> assigned_to;  // by value: variable, or -1

 private:
  void start_sums_early(const Graph& graph);
};

}  // namespace stoker
