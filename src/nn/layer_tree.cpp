#include "nn/layer_tree.h"

#include <algorithm>
#include <set>

namespace stoker {

namespace {

// Children after their parents, whichever way they are reached: a depth-first walk, backwards.
class Walk {
 public:
  void visit_children(const LayerBase& layer, const std::string& prefix) {
    std::vector<Layer> children = layer.children();
    std::ranges::reverse(children);  // Clang 14 has no views::reverse over libstdc++ 12
    for (const Layer& child : children) {
      if (!seen_.insert(&child.base()).second) continue;
      std::string path = prefix + without_prefix(child.base().label(), layer.label());
      visit_children(child.base(), path + "/");
      found.push_back({std::move(path), child});
    }
  }
  std::vector<Descendant> found;

 private:
  std::set<const LayerBase*> seen_;
};

}  // namespace

std::vector<Descendant> descendants(const LayerBase& layer) {
  Walk walk;
  walk.visit_children(layer, "");
  std::ranges::reverse(walk.found);
  return std::move(walk.found);
}

Layer find_descendant(const std::vector<Layer>& children, const std::string& parent_label,
                      std::string_view path) {
  for (const Layer& child : children) {
    std::string name = without_prefix(child.base().label(), parent_label);
    if (path == name) return child;
    if (!path.starts_with(name + "/")) continue;
    Layer inner =
        find_descendant(child.children(), child.base().label(), path.substr(name.size() + 1));
    if (inner.shared() != nullptr) return inner;
  }
  return {};
}

std::string without_prefix(const std::string& name, const std::string& parent_label) {
  if (parent_label.empty()) return name;
  return name.starts_with(parent_label + "/") ? name.substr(parent_label.size() + 1) : name;
}

std::vector<Variable> each_once(const std::vector<Variable>& variables) {
  std::vector<Variable> distinct;
  std::set<const void*> seen;
  for (const Variable& variable : variables)
    if (seen.insert(variable.id()).second) distinct.push_back(variable);
  return distinct;
}

}  // namespace stoker
