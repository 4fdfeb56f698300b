// Lighter architectures made from a model. Each function returns a new, uncompiled model with a
// report of what it saves; the given model is unchanged.
//
//   Lighter lighter = low_rank(model, {.energy = 0.95});
//   std::cout << lighter.report.text();
//   lighter.model.compile(…);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stoker/model.h>
#include <stoker/prune.h>

namespace stoker {

struct LayerChange {
  std::string layer;
  std::string change;  // "Conv2D → SeparableConv2D"
  // ‖old − new‖ / ‖old‖ of the weights that the new ones approximate; empty: they were drawn anew.
  std::optional<double> error = {};
};

struct LighterReport {
  int64_t parameters_before = 0, parameters_after = 0;
  // Of one sample; empty where they depend on dimensions that only a batch has.
  std::optional<double> flops_before = {}, flops_after = {};
  std::vector<LayerChange> changes;
  std::vector<NotPruned> unchanged;  // candidates that stayed as they were, and why
  std::string text() const;
};

struct Lighter {
  Model model;
  LighterReport report;
};

struct SeparableOptions {
  // Names or paths; empty: every Conv2D that would get lighter.
  std::vector<std::string> layers = {};
  std::vector<std::string> exclude = {};
  // Depthwise filters per input channel: more filters approximate better and save less.
  int64_t depth_multiplier = 1;
  CustomObjects custom_objects = {};
};
// Conv2D → SeparableConv2D. The new weights are the nearest to the old ones (by their norm), per
// input channel. ValueError for one of `layers` that is 1×1 or grouped.
Lighter separable(const Model& model, const SeparableOptions& options = {});

struct WidthOptions {
  int64_t multiple_of = 8;  // channels are rounded to a multiple, at least one; small groups to 1
  std::vector<std::string> exclude = {};
  CustomObjects custom_objects = {};
};
// The same network with `multiplier` times the channels in every layer, and weights drawn anew.
// Inputs and outputs of the model keep their shapes. ValueError unless the multiplier is positive.
Lighter scale_width(const Model& model, double multiplier, const WidthOptions& options = {});

struct LowRankOptions {
  std::vector<std::string> layers = {};  // names or paths; empty: every Dense that gets lighter
  std::vector<std::string> exclude = {};
  std::optional<int64_t> rank = {};  // of every layer; empty: what `energy` takes
  double energy = 0.9;               // share of the squared singular values to keep, in (0, 1]
  CustomObjects custom_objects = {};
};
// Dense → its two best factors of low rank (singular value decomposition): a Dense of `rank` units
// without bias, then one with the old bias and activation.
Lighter low_rank(const Model& model, const LowRankOptions& options = {});

}  // namespace stoker
