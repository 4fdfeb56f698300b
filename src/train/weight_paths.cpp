#include "train/weight_paths.h"

#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "nn/layer_tree.h"
#include "nn/names.h"

namespace stoker {

namespace {

class Namer {
 public:
  // The layers inside first, then what is left: the layer's own.
  void visit(const LayerBase& layer, const std::string& prefix) {
    bool model = dynamic_cast<const ModelBase*>(&layer) != nullptr;  // its layers' names are whole
    for (const Layer& child : layer.children()) {
      std::string label = child.base().label();
      visit(child.base(), prefix + (model ? label : without_prefix(label, layer.label())) + "/");
    }
    for (const Variable& weight : layer.weights())
      if (seen_.insert(weight.id()).second)
        named.emplace_back(unique_name(prefix + local_name(layer, weight), taken_), weight);
  }
  NamedVariables named;

 private:
  // "kernel" for "dense/kernel" of layer "dense".
  static std::string local_name(const LayerBase& layer, const Variable& weight) {
    std::string_view name = weight.name();
    std::string own = layer.path() + "/";
    return std::string(name.starts_with(own) ? name.substr(own.size()) : name);
  }
  std::set<const void*> seen_;
  std::set<std::string> taken_;
};

}  // namespace

NamedVariables named_weights(const ModelBase& model) {
  Namer namer;
  namer.visit(model, "");
  return std::move(namer.named);
}

void check_tensors(const NamedVariables& wanted,
                   const std::vector<std::pair<std::string, Tensor>>& there, bool exact) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : there) by_name[name] = &tensor;
  for (const auto& [name, variable] : wanted) {
    auto found = by_name.find(name);
    if (found == by_name.end()) throw ValueError(fmt::format("tensor \"{}\" is missing", name));
    if (found->second->spec() != variable.spec())
      throw ValueError(fmt::format("tensor \"{}\" is {}, expected {}", name,
                                   to_string(found->second->spec()), to_string(variable.spec())));
    by_name.erase(found);
  }
  if (exact && !by_name.empty())
    throw ValueError(
        fmt::format("tensor \"{}\" belongs to nothing in the model", by_name.begin()->first));
}

void write_tensors(const NamedVariables& wanted,
                   const std::vector<std::pair<std::string, Tensor>>& there) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : there) by_name[name] = &tensor;
  for (const auto& [name, variable] : wanted) Variable(variable).write(*by_name.at(name));
}

}  // namespace stoker
