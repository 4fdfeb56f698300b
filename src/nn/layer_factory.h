// Layers from their kind and configuration: what load_model reads. The kinds of layers.h are known;
// a caller passes the makers of its own kinds, which go first. No registration, no global state.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <stoker/layer.h>

namespace stoker {

// Makes a layer from what its config() said; "name" is among the attributes.
using LayerFactory = std::function<Layer(const Attrs& config)>;
using LayerFactories = std::map<std::string, LayerFactory, std::less<>>;

// ValueError for an unknown kind, or one whose code cannot be in a file (HostLayer, Lambda), with
// what to do. "trainable" in `config` freezes the layer when it is false.
Layer layer_from_config(const std::string& kind, const std::string& name, const Attrs& config,
                        const LayerFactories& custom = {});

// config(), and "trainable" where the layer is frozen: what to write.
Attrs full_config(const LayerBase& layer);

const LayerFactories& built_in_layers();

}  // namespace stoker
