// One family of layers per file; each adds its kinds.
#pragma once

#include "nn/layer_factory.h"

namespace stoker {

void add_core_layers(LayerKinds& kinds);
void add_convolution_layers(LayerKinds& kinds);
void add_convolution1d_layers(LayerKinds& kinds);
void add_pooling_layers(LayerKinds& kinds);
void add_pooling1d_layers(LayerKinds& kinds);
void add_reshaping_layers(LayerKinds& kinds);
void add_reshaping1d_layers(LayerKinds& kinds);
void add_normalization_layers(LayerKinds& kinds);
void add_weight_normalization(LayerKinds& kinds);
void add_unit_normalization(LayerKinds& kinds);
void add_residual_layers(LayerKinds& kinds);
void add_activation_layers(LayerKinds& kinds);
void add_merge_layers(LayerKinds& kinds);
void add_preprocessing_layers(LayerKinds& kinds);
void add_embedding_layers(LayerKinds& kinds);
void add_host_layers(LayerKinds& kinds);
void add_recurrent_cells(LayerKinds& kinds);
void add_recurrent_layers(LayerKinds& kinds);
void add_recurrent_wrappers(LayerKinds& kinds);

}  // namespace stoker
