#include "nn/layer_factory.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/layers/families.h"

namespace stoker {

namespace {

[[noreturn]] void fail_unknown(const std::string& kind, const LayerFactories& custom) {
  std::string known;
  for (const LayerFactories* factories : {&custom, &built_in_layers()})
    for (const auto& [name, make] : *factories) known += (known.empty() ? "" : ", ") + name;
  throw ValueError(fmt::format(
      "unknown layer kind \"{}\"; there are {}; pass the maker of an own layer when loading", kind,
      known));
}

}  // namespace

const LayerFactories& built_in_layers() {
  static const LayerFactories factories = [] {
    LayerFactories all;
    add_core_layers(all);
    add_convolution_layers(all);
    add_pooling_layers(all);
    add_reshaping_layers(all);
    add_normalization_layers(all);
    add_weight_normalization(all);
    add_activation_layers(all);
    add_merge_layers(all);
    add_preprocessing_layers(all);
    add_embedding_layers(all);
    add_host_layers(all);
    return all;
  }();
  return factories;
}

Layer layer_from_config(const std::string& kind, const std::string& name, const Attrs& config,
                        const LayerFactories& custom) {
  auto found = custom.find(kind);
  if (found == custom.end()) {
    found = built_in_layers().find(kind);
    if (found == built_in_layers().end()) fail_unknown(kind, custom);
  }
  Attrs named = config;
  named.set("name", name);
  Layer layer = found->second(named);
  if (!name.empty()) layer.base().set_name(name);
  if (!config.get_or("trainable", true)) layer.set_trainable(false);
  layer.set_dtype_policy(config.get_or("dtype_policy", std::string()));
  return layer;
}

Attrs full_config(const LayerBase& layer) {
  Attrs config = layer.config();
  if (!layer.trainable()) config.set("trainable", false);
  if (!layer.dtype_policy().empty()) config.set("dtype_policy", layer.dtype_policy());
  return config;
}

}  // namespace stoker
