// Gradients by hand (ops::custom_gradient): where the reverse sweep calls a function of the user in
// place of an op's rule. Kept as a note of the graph that is traced, which clones do not have.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace stoker {

// Of the output of an identity node: what `pull` gives goes to `inputs`, which may stand far before it.
struct OwnGradient {
  std::vector<int> inputs;
  std::function<Values(const Value& upstream)> pull;
};

struct OwnGradients {
  std::unordered_map<int, OwnGradient> of = {};  // by output
};

// Null: the op's rule counts.
inline const OwnGradient* find(const OwnGradients& own, const Node& node) {
  if (own.of.empty() || node.outputs.size() != 1) return nullptr;
  auto found = own.of.find(node.outputs[0]);
  return found == own.of.end() ? nullptr : &found->second;
}

}  // namespace stoker
