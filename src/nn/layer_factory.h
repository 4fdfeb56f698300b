// Layers from their kind and configuration: what load_model reads. The kinds of layers.h are known;
// a caller passes the makers of its own kinds, which go first. No registration, no global state.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <stoker/layer.h>

#include "base/fields.h"

namespace stoker {

using LayerFactories = std::map<std::string, LayerFactory, std::less<>>;

// One kind of layers.h.
struct LayerKind {
  LayerFactory make = {};
  // In place of `make`, for a layer around others, which may be the user's own.
  std::function<Layer(const Attrs& config, const LayerFactories& custom)> wrap = {};
  std::function<bool(const LayerBase&)> is = {};  // whether the layer's class is the library's
  std::function<std::vector<FieldText>()> fields = {};  // its options, for the reference
};
using LayerKinds = std::map<std::string, LayerKind, std::less<>>;

// Where a layer stands in the model that is being made.
struct LayerPlace {
  std::string path = {};  // "encoder/lambda"; empty: its name
  bool own = false;       // its class is the user's, whatever its kind is called
};

// `custom` is asked for its kind, its path and its name, in this order, before the built-in kinds.
// ValueError for an unknown kind, or one whose code cannot be in a file (HostLayer, Lambda), with
// what to pass; for a maker that throws, or returns nothing or another kind. "trainable" in
// `config` freezes the layer when it is false.
Layer layer_from_config(const std::string& kind, const std::string& name, const Attrs& config,
                        const LayerFactories& custom = {}, const LayerPlace& place = {});

// How the maker of a layer is passed to load_model, for errors: by its kind or its name.
std::string how_to_pass_layer(const std::string& key);

// Whether the layer's class is not the library's, although its kind may be called like one.
bool is_own_class(const LayerBase& layer);

// config(), and "trainable" where the layer is frozen: what to write.
Attrs full_config(const LayerBase& layer);

const LayerKinds& built_in_layers();

}  // namespace stoker
