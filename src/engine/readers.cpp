#include "engine/readers.h"

#include <algorithm>

namespace stoker {

std::vector<const Node*> Readers::of(int value) const {
  std::vector<const Node*> found;
  for (const Node& node : graph_.nodes())
    if (std::ranges::find(node.inputs, value) != node.inputs.end()) found.push_back(&node);
  return found;
}

std::vector<const Node*> Readers::all_of(int value) const {
  std::vector<const Node*> found = of(value);
  if (size_t(uses(value)) != found.size()) found.clear();
  return found;
}

const Node* Readers::only(int value) const {
  std::vector<const Node*> found = all_of(value);
  return found.size() == 1 ? found[0] : nullptr;
}

}  // namespace stoker
