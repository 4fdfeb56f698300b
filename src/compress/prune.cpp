// prune() for single weights and N:M patterns, and its report.
#include <stoker/prune.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "compress/masks.h"

namespace stoker {

namespace {

using compress::Kept;

struct PrunedKernel {
  std::string name;
  Variable weight;
  std::vector<float> magnitudes;
};

std::vector<PrunedKernel> kernels_of(const NamedVariables& selected) {
  std::vector<PrunedKernel> kernels;
  for (const auto& [name, weight] : selected) {
    Tensor values = weight.read();
    compress::check_finite(name, values);
    PrunedKernel kernel{name, weight, values.to_vector<float>()};
    for (float& each : kernel.magnitudes) each = std::abs(each);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

// The `count` smallest, equal ones in the order of their indices; one at least stays.
std::vector<size_t> smallest(const std::vector<float>& values, size_t count) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t(0));
  count = std::min(count, values.empty() ? 0 : values.size() - 1);
  std::nth_element(
      order.begin(), order.begin() + std::ptrdiff_t(count), order.end(),
      [&](size_t a, size_t b) { return values[a] != values[b] ? values[a] < values[b] : a < b; });
  order.resize(count);
  return order;
}

size_t share_of(double sparsity, size_t count) {
  return size_t(std::llround(sparsity * double(count)));
}

std::vector<Kept> kept_in_each(const std::vector<PrunedKernel>& kernels, double sparsity) {
  std::vector<Kept> kept;
  for (const PrunedKernel& kernel : kernels) {
    kept.emplace_back(kernel.magnitudes.size(), uint8_t(1));
    for (size_t i : smallest(kernel.magnitudes, share_of(sparsity, kernel.magnitudes.size())))
      kept.back()[i] = 0;
  }
  return kept;
}

// A kernel that would lose all its weights keeps its largest: a layer of zeros learns nothing.
std::vector<Kept> kept_in_all(const std::vector<PrunedKernel>& kernels, double sparsity) {
  std::vector<float> all;
  for (const PrunedKernel& kernel : kernels)
    all.insert(all.end(), kernel.magnitudes.begin(), kernel.magnitudes.end());
  Kept flat(all.size(), 1);
  for (size_t i : smallest(all, share_of(sparsity, all.size()))) flat[i] = 0;
  std::vector<Kept> kept;
  auto at = flat.begin();
  for (const PrunedKernel& kernel : kernels) {
    auto end = at + std::ptrdiff_t(kernel.magnitudes.size());
    kept.emplace_back(at, end);
    if (std::ranges::count(kept.back(), uint8_t(1)) == 0)
      kept.back()[size_t(std::ranges::max_element(kernel.magnitudes) - kernel.magnitudes.begin())] =
          1;
    at = end;
  }
  return kept;
}

// Neighbours lie along the inputs, the last axis but one: what a product sums over.
Kept kept_by_pattern(const PrunedKernel& kernel, const KeptOf& pattern) {
  const Shape& shape = kernel.weight.shape();
  int64_t columns = shape[-1], rows = shape.elements() / columns;
  Kept kept(kernel.magnitudes.size(), 0);
  std::vector<float> group(static_cast<size_t>(pattern.group));
  for (int64_t row = 0; row < rows; row += pattern.group)
    for (int64_t column = 0; column < columns; ++column) {
      auto at = [&](size_t i) { return size_t((row + int64_t(i)) * columns + column); };
      for (size_t i = 0; i < group.size(); ++i) group[i] = kernel.magnitudes[at(i)];
      for (size_t i = 0; i < group.size(); ++i) kept[at(i)] = 1;
      for (size_t i : smallest(group, size_t(pattern.group - pattern.kept))) kept[at(i)] = 0;
    }
  return kept;
}

void check_pattern(const KeptOf& pattern) {
  if (pattern.kept < 1 || pattern.group <= pattern.kept)
    throw ValueError(fmt::format("prune: pattern is {} of {}, expected 1 or more of a larger group",
                                 pattern.kept, pattern.group));
}

// Without kernels whose inputs the pattern does not divide; those that were asked for must fit.
NamedVariables fitting(NamedVariables selected, const PruneOptions& options, PruneReport& report) {
  check_pattern(options.pattern);
  int64_t group = options.pattern.group;
  std::erase_if(selected, [&](const auto& each) {
    int64_t inputs = each.second.shape()[-2];
    bool product = !each.first.ends_with("embeddings");
    if (product && inputs % group == 0) return false;
    std::string reason =
        product
            ? fmt::format("its {} inputs are no multiple of {}, the pattern's group", inputs, group)
            : "a table of rows is no product with inputs";
    if (!options.layers.empty())
      throw ValueError(fmt::format("prune: \"{}\": {}", each.first, reason));
    report.not_pruned.push_back({each.first, reason});
    return true;
  });
  return selected;
}

std::vector<PrunedKernel> chosen_kernels(const Model& model, const PruneOptions& options,
                                         PruneReport& found) {
  if (options.flops)
    throw ValueError(
        "prune: .flops is for PruneKind::channels: single weights "
        "that are zero save no FLOPs");
  NamedVariables selected = compress::selected_kernels(model, options, found.not_pruned);
  if (options.kind == PruneKind::n_of_m) selected = fitting(std::move(selected), options, found);
  if (selected.empty())
    throw ValueError(fmt::format(
        "prune: no weight of the model can be pruned{}",
        found.not_pruned.empty()
            ? "; a layer has kernels once it has met an input"
            : fmt::format(": {}: {}", found.not_pruned[0].layer, found.not_pruned[0].reason)));
  return kernels_of(selected);
}

const char* prune_kind_text(PruneKind kind) {
  switch (kind) {
    case PruneKind::channels:
      return "channels";
    case PruneKind::n_of_m:
      return "an N:M pattern";
    case PruneKind::weights:
      break;
  }
  return "single weights";
}

std::string gain_text(const PruneReport& report) {
  if (report.weights.empty()) return "No weight has a mask.\n";
  if (report.kind == PruneKind::channels)
    return fmt::format(
        "{} of {} channels are hidden. A step takes as long as "
        "before; strip() removes them, and "
        "then it takes less.\n",
        report.removed, report.channels);
  return fmt::format(
      "Pruned: {}. No engine of Stoker computes faster with "
      "weights that are zero: a step takes as "
      "long, and the model as much memory, as before. A file of "
      "it compresses better; for speed "
      "prune channels.\n",
      prune_kind_text(report.kind));
}

}  // namespace

std::string PruneReport::text() const {
  size_t width = 6;
  for (const PrunedWeight& weight : weights) width = std::max(width, weight.name.size());
  std::string text =
      fmt::format("{:<{}}  {:>12}  {:>12}  sparsity\n", "weight", width, "elements", "zeros");
  for (const PrunedWeight& weight : weights)
    text += fmt::format("{:<{}}  {:>12}  {:>12}  {:>7.1f} %\n", weight.name, width, weight.elements,
                        weight.zeros, 100 * weight.sparsity());
  text += fmt::format("{:<{}}  {:>12}  {:>12}  {:>7.1f} %\n", "all", width, elements, zeros,
                      100 * sparsity());
  text += gain_text(*this);
  for (const std::string& note : notes) text += "Note: " + note + "\n";
  for (const NotPruned& each : not_pruned)
    text += fmt::format("Not pruned: {}: {}\n", each.layer, each.reason);
  return text;
}

void compress::check_prunable(const Model& model, const PruneOptions& options) {
  PruneReport found;
  if (options.kind == PruneKind::channels)
    prune_channels(model, options, /*dry=*/true);
  else
    chosen_kernels(model, options, found);
}

PruneReport prune_report(const Model& model) { return compress::measured(model); }

PruneReport prune(const Model& model, const PruneOptions& options) {
  compress::check_sparsity(options.sparsity, "sparsity");
  if (options.kind == PruneKind::channels) return compress::prune_channels(model, options);
  PruneReport found;
  std::vector<PrunedKernel> kernels = chosen_kernels(model, options, found);
  std::vector<Kept> kept;
  if (options.kind == PruneKind::n_of_m)
    for (const PrunedKernel& kernel : kernels)
      kept.push_back(kept_by_pattern(kernel, options.pattern));
  else
    kept = options.scope == PruneScope::layer ? kept_in_each(kernels, options.sparsity)
                                              : kept_in_all(kernels, options.sparsity);
  for (size_t i = 0; i < kernels.size(); ++i) compress::hide(model, kernels[i].weight, kept[i]);
  PruneReport report = compress::measured(model);
  report.kind = options.kind;
  report.not_pruned = std::move(found.not_pruned);
  return report;
}

}  // namespace stoker
