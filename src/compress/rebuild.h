// Layers and weights of a model that is made again (train/model/rebuilt.h). Own layers come from
// makers, as in load_model.
#pragma once

#include <map>
#include <string>

#include <stoker/model.h>

#include "nn/layer_factory.h"
#include "train/model/rebuilt.h"

namespace stoker::compress {

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
