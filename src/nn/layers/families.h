// One family of layers a file; each adds the makers of its kinds.
#pragma once

#include "nn/layer_factory.h"

namespace stoker {

void add_core_layers(LayerFactories& factories);
void add_convolution_layers(LayerFactories& factories);
void add_pooling_layers(LayerFactories& factories);
void add_reshaping_layers(LayerFactories& factories);
void add_normalization_layers(LayerFactories& factories);
void add_weight_normalization(LayerFactories& factories);
void add_activation_layers(LayerFactories& factories);
void add_merge_layers(LayerFactories& factories);
void add_preprocessing_layers(LayerFactories& factories);
void add_embedding_layers(LayerFactories& factories);
void add_host_layers(LayerFactories& factories);

}  // namespace stoker
