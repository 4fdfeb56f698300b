// Rematerialisation: the nodes of a region are computed again in the backward pass, so that their
// results need no memory in between. Regions are marked while a graph is traced; the reverse sweep then
// reads copies of their nodes. A copy has the op, attributes and operands of its original, the random
// stream included, and therefore its bits; the attribute kRecomputed keeps passes from merging the two.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace stoker {

inline constexpr const char* kRecomputed = "recomputed";  // of a copy: its region

// By value: the region of the node that computes it. A note of the graph.
struct RematRegions {
  std::unordered_map<int, int> of = {};
};

// Makes the nodes from `first` on one region; regions inside it become part of it.
void mark_for_remat(Graph& graph, size_t first);

// What gradient rules read of the nodes before `last`. One per sweep.
class Recomputed {
 public:
  Recomputed(Graph& graph, size_t last);
  // `id` as the gradient of `reader` reads it: the value itself, or what a copy of its node computes.
  // What a rule is given and does not read is a dead node, which passes remove.
  // Values that leave the region stay in memory anyway and are never computed again; nor is what an
  // own host function returned.
  Value value(const Node& reader, int id);

 private:
  int region_of(const Node& node) const;  // 0: none
  bool is_kept(const Node& reader, int id) const;
  void copy(Node node);

  Graph& graph_;
  const RematRegions& regions_;
  std::vector<bool> kept_;               // by value; empty: no node is in a region
  std::unordered_map<int, int> copies_;  // by value of a region
};

}  // namespace stoker
