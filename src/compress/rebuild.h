// A model made again with new layers, connected as the old ones are: what strip() and the helpers
// of lighter.h are written with. Own layers come from makers, as in load_model.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <stoker/model.h>

#include "nn/layer_factory.h"

namespace stoker::compress {

// The new layer for one that is not a model. `path`: its name behind those of the models around it.
using MakeLayer = std::function<Layer(const Layer& layer, const std::string& path)>;

// `action` begins the text of errors. Weights are drawn anew; layers that several models or calls
// share are made once, and frozen layers stay frozen.
Model rebuilt(const Model& model, const MakeLayer& make, const char* action);

// The layer again, with another configuration.
Layer made_again(const Layer& layer, const Attrs& config, const std::string& path,
                 const CustomObjects& objects);

// By the names of named_weights(). Every weight of the model whose name is among them must fit.
using TensorsByName = std::map<std::string, Tensor>;
TensorsByName tensors_of(const Model& model);
void write_weights(const Model& model, const TensorsByName& tensors);

// Whether one of `names` means the layer or weight with this path, or a model around it.
bool names_it(const std::vector<std::string>& names, const std::string& path);

}  // namespace stoker::compress
