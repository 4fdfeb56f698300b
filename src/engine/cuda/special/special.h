// Special cases: a few nodes, as one kind of network has them, that kernels of their own run as
// one. The rest of the engine knows none of them: it asks specials() which nodes match, lets what
// was found build them, and reads without this folder. Each has a network in
// tests/engine/cuda/test_special.cpp in which it must be found.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/readers.h"

namespace stoker::cuda {

class Builder;
struct Fusion;

// What builds a node, and with it those that Fusion::into gives to it.
class SpecialNode {
 public:
  virtual ~SpecialNode() = default;

  virtual void build(Builder& b, const Node& node) const = 0;
  // Of a node that an optimiser's update does the work of: its gradients, and the step for the
  // parameters `which` of the update.
  virtual void build_with_update(Builder& b, const Node& node, const Node& update,
                                 std::span<const size_t> which) const;
  // Values that are read beyond the operands of the nodes it stands for.
  virtual std::vector<int> also_reads(const Graph&) const { return {}; }
  // The batch_norm whose result it makes from the statistics, or -1.
  virtual int normalizes() const { return -1; }
  // The weights that it reads turned ([columns, rows]), or -1.
  virtual int turned_weights() const { return -1; }
  // A node whose work counts as this one's, even where an update does both; or -1.
  virtual int includes() const { return -1; }
};

struct Special {
  std::string_view name;
  // Adds what it finds to Fusion::special, and what that includes to Fusion::into.
  void (*match)(const Readers& readers, Fusion& found);
  // It concerns single nodes only: found where nodes keep their order, too.
  bool alone = false;
  // Brings nodes into an order in which more is found; may be null. Before match.
  void (*order)(Graph& graph) = nullptr;
};

// In the order in which they match.
std::span<const Special> specials();

}  // namespace stoker::cuda
