#include "compress/masks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compress/rebuild.h"
#include "nn/layer_tree.h"

namespace stoker::compress {

namespace {

Tensor masked(const Tensor& values, const Kept& kept) {
  Tensor result = values.clone();
  float* out = result.data_mut<float>();
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i] == 0) out[i] = 0.0F;
  return result;
}

Tensor tensor_of(const Kept& kept, const Shape& shape) {
  Tensor mask(DType::bool_, shape);
  bool* out = mask.data_mut<bool>();
  for (size_t i = 0; i < kept.size(); ++i) out[i] = kept[i] != 0;
  return mask;
}

std::string layer_path(const std::string& weight) { return weight.substr(0, weight.rfind('/')); }
std::string local_name(const std::string& weight) { return weight.substr(weight.rfind('/') + 1); }

bool is_kernel(const std::string& weight) {
  std::string name = local_name(weight);
  return name.ends_with("kernel") || name.ends_with("embeddings");
}

// Why a weight of a layer that was asked for cannot be pruned; "": it can.
std::string prune_obstacle(const std::string& name, const Variable& weight) {
  if (weight.shape().rank() < 2 || local_name(name).find("bias") != std::string::npos)
    return "has one parameter per channel";
  if (weight.dtype() != DType::float32)
    return fmt::format("is {}, expected float32", stoker::name(weight.dtype()));
  if (!weight.trainable()) return "is not trainable";
  return "";
}

}  // namespace

void check_names(const Model& model, const std::vector<std::string>& names, const char* action) {
  std::vector<std::string> known;
  for (const Descendant& inner : descendants(model.base())) known.push_back(inner.path);
  for (const std::string& name : names)
    if (std::ranges::none_of(known, [&](const auto& path) { return names_it({name}, path); }))
      throw ValueError(fmt::format("{}: there is no layer \"{}\"; there are {}", action, name,
                                   fmt::join(known, ", ")));
}

Kept kept_of(const Variable& weight) {
  if (!weight.mask().defined()) return Kept(size_t(weight.shape().elements()), 1);
  Tensor mask = weight.mask().read();
  auto values = mask.values<bool>();
  return {values.begin(), values.end()};
}

void hide(const Model& model, const Variable& weight, Kept kept) {
  Kept before = kept_of(weight);
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = kept[i] != 0 && before[i] != 0 ? 1 : 0;
  Variable variable = weight;
  Tensor mask = tensor_of(kept, weight.shape());
  if (Variable known = weight.mask(); known.defined())
    known.write(mask);
  else
    variable.set_mask(Variable(weight.name() + "/mask", mask, {.trainable = false}));
  variable.write(masked(weight.read(), kept));
  if (!model.compiled() || !model.optimizer().use_ema() || !weight.trainable()) return;
  Variable average = model.optimizer().average(weight);
  average.write(masked(average.read(), kept));
}

void check_finite(const std::string& name, const Tensor& weight) {
  auto values = weight.values<float>();
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      throw ValueError(
          fmt::format("prune: weight \"{}\" holds {} at element {}, so that "
                      "its magnitudes have no order; load "
                      "weights from before the training diverged",
                      name, values[i], i));
}

void check_sparsity(double sparsity, const char* what) {
  if (!(sparsity >= 0 && sparsity < 1))  // NaN too
    throw ValueError(fmt::format("prune: {} is {}, expected a number in [0, 1)", what, sparsity));
}

NamedVariables selected_kernels(const Model& model, const PruneOptions& options,
                                std::vector<NotPruned>& not_pruned) {
  check_names(model, options.layers, "prune");
  check_names(model, options.exclude, "prune");
  NamedVariables selected;
  for (const auto& [name, weight] : named_weights(ModelAccess::base(model))) {
    std::string layer = layer_path(name), why = prune_obstacle(name, weight);
    bool asked = names_it(options.layers, layer);
    if (!options.layers.empty() && !asked) continue;
    if (names_it(options.exclude, layer)) {
      if (is_kernel(name)) not_pruned.push_back({layer, "is in .exclude"});
      continue;
    }
    if (why.empty() && (asked || is_kernel(name)))
      selected.emplace_back(name, weight);
    else if (why.empty())
      not_pruned.push_back(
          {layer, fmt::format("\"{}\" is no kernel; name the layer in .layers", local_name(name))});
    else if (is_kernel(name))
      not_pruned.push_back({layer, fmt::format("\"{}\" {}", local_name(name), why)});
  }
  for (const std::string& name : options.layers)
    if (std::ranges::none_of(
            selected, [&](const auto& each) { return names_it({name}, layer_path(each.first)); })) {
      auto why = std::ranges::find_if(
          not_pruned, [&](const NotPruned& each) { return names_it({name}, each.layer); });
      throw ValueError(fmt::format("prune: layer \"{}\" cannot be pruned: {}", name,
                                   why == not_pruned.end() ? "it has no kernel" : why->reason));
    }
  return selected;
}

PruneReport measured(const Model& model) {
  PruneReport report;
  for (const auto& [name, weight] : named_weights(ModelAccess::base(model))) {
    if (!weight.mask().defined()) continue;
    Tensor values = weight.read();
    auto zeros = std::ranges::count(values.values<float>(), 0.0F);
    report.weights.push_back({name, weight.shape().elements(), int64_t(zeros)});
    report.elements += weight.shape().elements();
    report.zeros += int64_t(zeros);
  }
  return report;
}

}  // namespace stoker::compress
