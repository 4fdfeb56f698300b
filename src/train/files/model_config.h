// A model as the configuration of a layer: what a layer around it, such as TimeDistributed, writes.
#pragma once

#include "nn/layer_factory.h"
#include "train/model/model_base.h"

namespace stoker {

// "architecture", as architecture_to_json writes it, and the tensors that its ops refer to. Error for a
// Sequential that has not met an input yet; ValueError for what a file cannot hold.
Attrs model_config(const ModelBase& model);

// These makers, and those of models from what model_config() gave, with these makers for their layers.
LayerFactories with_models(const LayerFactories& custom);

}  // namespace stoker
