#include "nn/layer_factory.h"

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/layer_options.h>

#include "nn/layers/families.h"

namespace stoker {

namespace {

[[noreturn]] void fail_unknown(const std::string& kind, const LayerPlace& place) {
  if (place.own)
    throw ValueError(fmt::format("kind \"{}\" is C++ code, which is not in the file; pass it: {}",
                                 kind, how_to_pass_layer(kind)));
  std::string known;
  for (const auto& [name, each] : built_in_layers()) known += (known.empty() ? "" : ", ") + name;
  throw ValueError(fmt::format("unknown layer kind \"{}\"; there are {}; pass an own one: {}", kind,
                               known, how_to_pass_layer(kind)));
}

// Null where the caller has none for it.
const LayerFactory* find_custom(const LayerFactories& custom, const std::string& kind,
                                const std::string& name, const LayerPlace& place) {
  for (const std::string* key : {&kind, &place.path, &name})
    if (auto found = custom.find(*key); found != custom.end()) return &found->second;
  return nullptr;
}

Layer make_custom(const LayerFactory& make, const std::string& kind, const std::string& name,
                  const Attrs& config) {
  auto fail = [&](const std::string& what) {
    throw ValueError(fmt::format("the maker for {} \"{}\" in custom_objects {}", kind, name, what));
  };
  Layer layer;
  try {
    layer = make(config);
  } catch (const std::exception& error) {
    fail(fmt::format("failed: {}", error.what()));
  }
  if (layer.shared() == nullptr) fail("returned an empty Layer");
  if (layer.base().kind() != kind)
    fail(fmt::format("returned a layer of kind \"{}\"", layer.base().kind()));
  return layer;
}

Layer make_built_in(const std::string& kind, const std::string& name, const Attrs& config,
                    const LayerFactories& custom, const LayerPlace& place) {
  auto found = built_in_layers().find(kind);
  if (place.own || found == built_in_layers().end()) fail_unknown(kind, place);
  const Attr* activation = config.find("activation");
  if (activation != nullptr && *activation == Attr(std::string(ActivationFunction::kCustom)))
    throw ValueError(
        fmt::format("the activation of {} \"{}\" is a C++ function, which is not in the file; pass "
                    "the layer: {}",
                    kind, name, how_to_pass_layer(name)));
  return found->second.wrap ? found->second.wrap(config, custom) : found->second.make(config);
}

}  // namespace

const LayerKinds& built_in_layers() {
  static const LayerKinds kinds = [] {
    LayerKinds all;
    add_core_layers(all);
    add_convolution_layers(all);
    add_convolution1d_layers(all);
    add_pooling_layers(all);
    add_adaptive_pooling_layers(all);
    add_volume_layers(all);
    add_reshaping_layers(all);
    add_edge_layers(all);
    add_category_layers(all);
    add_bounding_box_layers(all);
    add_size_augmentations(all);
    add_geometry_augmentations(all);
    add_colour_augmentations(all);
    add_mixing_layers(all);
    add_composed_augmentations(all);
    add_adaptive_equalization(all);
    add_spectrogram_layers(all);
    add_dot_layer(all);
    add_regularization_layers(all);
    add_spectral_normalization(all);
    add_conv_lstm_layers(all);
    add_normalization_layers(all);
    add_weight_normalization(all);
    add_unit_normalization(all);
    add_residual_layers(all);
    add_activation_layers(all);
    add_merge_layers(all);
    add_preprocessing_layers(all);
    add_embedding_layers(all);
    add_host_layers(all);
    add_recurrent_cells(all);
    add_recurrent_layers(all);
    add_recurrent_wrappers(all);
    add_einsum_layers(all);
    add_projected_attention_layers(all);
    add_dot_attention_layers(all);
    add_position_layers(all);
    add_reversible_embedding_layers(all);
    add_moment_normalization(all);
    add_quantized_layers(all);
    add_quantized_products(all);
    add_quantized_weight_layers(all);
    add_quantization_aware_layers(all);
    return all;
  }();
  return kinds;
}

std::string how_to_pass_layer(const std::string& key) {
  return fmt::format(
      "load_model(path, {{.custom_objects = {{.layers = {{{{\"{}\", [](const Attrs& config) {{ "
      "return ...; }}}}}}}}}})",
      key);
}

bool is_own_class(const LayerBase& layer) {
  auto found = built_in_layers().find(layer.kind());
  return found == built_in_layers().end() || !found->second.is(layer);
}

Layer layer_from_config(const std::string& kind, const std::string& name, const Attrs& config,
                        const LayerFactories& custom, const LayerPlace& place) {
  Attrs named = config;
  named.set("name", name);
  const LayerFactory* own = find_custom(custom, kind, name, place);
  Layer layer = own != nullptr ? make_custom(*own, kind, name, named)
                               : make_built_in(kind, name, named, custom, place);
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
