#include "compress/quant_kinds.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <stoker/layers.h>

#include "base/field_types.h"
#include "compress/rebuild.h"

namespace stoker::compress {

namespace {

template <size_t n>
bool one_of_kinds(const std::string& kind, const std::array<std::string_view, n>& kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

bool names_one_number(const std::string& activation) {
  static constexpr std::array<std::string_view, 5> kOthers = {"softmax", "log_softmax", "sparsemax",
                                                              "glu", ActivationFunction::kCustom};
  return !one_of_kinds(activation, kOthers);
}

}  // namespace

bool is_dropped(const std::string& kind) {
  static constexpr std::array<std::string_view, 11> kKinds = {
      kRangeLayer,        "Dropout",
      "SpatialDropout1D", "SpatialDropout2D",
      "SpatialDropout3D", "GaussianNoise",
      "GaussianDropout",  "AlphaDropout",
      "Identity",         "ActivityRegularization",
      "StochasticDepth"};
  return one_of_kinds(kind, kKinds);
}

bool is_moved(const Layer& layer) {
  static constexpr std::array<std::string_view, 9> kKinds = {
      "Flatten",    "Reshape",    "Permute",      "RepeatVector", "Cropping1D",
      "Cropping2D", "Cropping3D", "UpSampling1D", "UpSampling3D"};
  std::string kind = layer.base().kind();
  if (kind == "UpSampling2D")
    return layer.base().config().get_or("interpolation", std::string("nearest")) == "nearest";
  return one_of_kinds(kind, kKinds);
}

bool is_product(const Layer& layer) {
  static constexpr std::array<std::string_view, 6> kKinds = {
      "Dense", "Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D"};
  return one_of_kinds(product_kind(layer), kKinds);
}

bool is_last_axis(const Layer& layer, int rank) {
  auto axis = layer.base().config().get_or<int64_t>("axis", -1);
  return axis == -1 || axis == rank - 1;
}

bool is_depthwise(const Layer& layer) { return product_kind(layer).starts_with("Depthwise"); }

int64_t products_of(const Layer& layer) {
  Shape kernel = layer.weights()[0].shape();
  int64_t filters = kernel[-1] * (is_depthwise(layer) ? kernel[-2] : 1);
  return filters == 0 ? 0 : kernel.elements() / filters;
}

bool is_aware(const Layer& layer) {
  return layer.base().kind() == kAwareLayer && !is_own_class(layer.base());
}
bool is_range(const Layer& layer) {
  return layer.shared() != nullptr && layer.base().kind() == kRangeLayer;
}

std::string product_kind(const Layer& layer) {
  return is_aware(layer) ? layer.base().config().get<std::string>("layer") : layer.base().kind();
}

Attrs product_config(const Layer& layer) {
  Attrs config = layer.base().config();
  return is_aware(layer) ? fields::nested(config, "layer") : config;
}

std::optional<Clip> clip_of(const Layer& layer) {
  std::string kind = layer.base().kind();
  if (is_own_class(layer.base())) return {};
  Attrs config = layer.base().config();
  if (kind == "Activation") {
    auto name = config.get_or("activation", std::string());
    if (name == "relu") return Clip{};
    if (name == "relu6") return Clip{6.0};
    return {};
  }
  if (kind != "ReLU" || config.get_or("negative_slope", 0.0) != 0 ||
      config.get_or("threshold", 0.0) != 0)
    return {};
  Clip clip;
  if (config.has("max_value")) clip.high = config.get<double>("max_value");
  return clip;
}

bool is_elementwise(const Layer& layer) {
  std::string kind = layer.base().kind();
  if (is_own_class(layer.base())) return false;
  if (kind == "Activation")
    return names_one_number(layer.base().config().get_or("activation", std::string()));
  return kind == "ReLU" || kind == "LeakyReLU" || kind == "ELU";
}

}  // namespace stoker::compress
