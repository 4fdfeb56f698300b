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
void add_activation_layers(LayerKinds& kinds);
void add_merge_layers(LayerKinds& kinds);
void add_preprocessing_layers(LayerKinds& kinds);
void add_embedding_layers(LayerKinds& kinds);
void add_host_layers(LayerKinds& kinds);
void add_recurrent_cells(LayerKinds& kinds);
void add_recurrent_layers(LayerKinds& kinds);
void add_recurrent_wrappers(LayerKinds& kinds);
void add_einsum_layers(LayerKinds& kinds);
void add_projected_attention_layers(LayerKinds& kinds);
void add_dot_attention_layers(LayerKinds& kinds);
void add_position_layers(LayerKinds& kinds);
void add_reversible_embedding_layers(LayerKinds& kinds);
void add_moment_normalization(LayerKinds& kinds);

}  // namespace stoker
