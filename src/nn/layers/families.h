// One family of layers per file; each adds its kinds.
#pragma once

#include "nn/layer_factory.h"

namespace stoker {

void add_core_layers(LayerKinds& kinds);
void add_convolution_layers(LayerKinds& kinds);
void add_convolution1d_layers(LayerKinds& kinds);
void add_volume_layers(LayerKinds& kinds);
void add_pooling_layers(LayerKinds& kinds);
void add_adaptive_pooling_layers(LayerKinds& kinds);
void add_reshaping_layers(LayerKinds& kinds);
void add_edge_layers(LayerKinds& kinds);
void add_category_layers(LayerKinds& kinds);
void add_bounding_box_layers(LayerKinds& kinds);
void add_size_augmentations(LayerKinds& kinds);
void add_geometry_augmentations(LayerKinds& kinds);
void add_colour_augmentations(LayerKinds& kinds);
void add_mixing_layers(LayerKinds& kinds);
void add_composed_augmentations(LayerKinds& kinds);
void add_adaptive_equalization(LayerKinds& kinds);
void add_spectrogram_layers(LayerKinds& kinds);
void add_dot_layer(LayerKinds& kinds);
void add_regularization_layers(LayerKinds& kinds);
void add_spectral_normalization(LayerKinds& kinds);
void add_conv_lstm_layers(LayerKinds& kinds);
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
void add_einsum_layers(LayerKinds& kinds);
void add_projected_attention_layers(LayerKinds& kinds);
void add_dot_attention_layers(LayerKinds& kinds);
void add_position_layers(LayerKinds& kinds);
void add_reversible_embedding_layers(LayerKinds& kinds);
void add_moment_normalization(LayerKinds& kinds);
void add_quantized_layers(LayerKinds& kinds);
void add_quantized_products(LayerKinds& kinds);
void add_quantized_weight_layers(LayerKinds& kinds);
void add_quantization_aware_layers(LayerKinds& kinds);

}  // namespace stoker
