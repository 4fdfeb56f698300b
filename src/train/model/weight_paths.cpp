#include "train/model/weight_paths.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

NamedVariables saved_weights(const ModelBase& model) {
  std::set<const void*> left_out;
  for (const Layer& layer : model.training_layers())
    for (const Variable& weight : layer.weights()) left_out.insert(weight.id());
  NamedVariables named = named_weights(model);
  std::erase_if(named, [&](const auto& each) { return left_out.contains(each.second.id()); });
  return named;
}

std::string first_few(const std::vector<std::string>& lines, const char* separator) {
  constexpr size_t kListed = 5;
  size_t listed = std::min(lines.size(), kListed);
  std::string text =
      fmt::format("{}", fmt::join(lines.begin(), lines.begin() + ptrdiff_t(listed), separator));
  if (lines.size() > listed) text += fmt::format("{}and {} more", separator, lines.size() - listed);
  return text;
}

void check_tensors(const NamedVariables& wanted,
                   const std::vector<std::pair<std::string, Tensor>>& there, bool exact) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : there) by_name[name] = &tensor;
  std::vector<std::string> missing, different, unknown;
  for (const auto& [name, variable] : wanted) {
    auto found = by_name.find(name);
    if (found == by_name.end()) {
      missing.push_back(fmt::format("tensor \"{}\" is missing", name));
      continue;
    }
    if (found->second->spec() != variable.spec())
      different.push_back(fmt::format("tensor \"{}\" is {}, expected {}", name,
                                      to_string(found->second->spec()),
                                      to_string(variable.spec())));
    by_name.erase(found);
  }
  if (exact)
    for (const auto& [name, tensor] : by_name)
      unknown.push_back(fmt::format("tensor \"{}\" belongs to nothing in the model", name));
  std::string text;
  for (const auto* lines : {&missing, &different, &unknown})
    if (!lines->empty()) text += (text.empty() ? "" : "; ") + first_few(*lines, "; ");
  if (!text.empty()) throw ValueError(text);
}

void write_tensors(const NamedVariables& wanted,
                   const std::vector<std::pair<std::string, Tensor>>& there) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : there) by_name[name] = &tensor;
  for (const auto& [name, variable] : wanted) Variable(variable).write(*by_name.at(name));
}

NamedVariables named_masks(const NamedVariables& weights) {
  NamedVariables masks;
  for (const auto& [name, weight] : weights)
    if (weight.mask().defined()) masks.emplace_back(kMasksPrefix + name, weight.mask());
  return masks;
}

NamedVariables masks_for(const NamedVariables& weights,
                         const std::vector<std::pair<std::string, Tensor>>& there) {
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : there)
    if (name.starts_with(kMasksPrefix)) names.insert(name);
  NamedVariables masks;
  for (const auto& [path, weight] : weights) {
    std::string name = kMasksPrefix + path;
    if (weight.mask().defined())
      masks.emplace_back(name, weight.mask());
    else if (names.contains(name))
      masks.emplace_back(
          name, Variable(weight.name() + "/mask", Tensor::full(weight.shape(), 1, DType::bool_),
                         {.trainable = false}));
  }
  return masks;
}

void set_masks(const NamedVariables& weights, const NamedVariables& masks) {
  auto next = masks.begin();
  for (const auto& [path, weight] : weights) {
    if (next == masks.end() || next->first != kMasksPrefix + path) continue;
    if (!(weight.mask() == next->second)) Variable(weight).set_mask(next->second);
    ++next;
  }
}

}  // namespace stoker
