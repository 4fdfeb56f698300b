// Layers whose values and gradients a record has, as keras_spatial.py's layer_case() makes it.
#pragma once

#include <stoker/layer.h>

#include "parity/recording.h"

namespace stoker::test {

// Of inputs, of what the output is multiplied with, and of weights.
enum LayerStream : uint64_t { kLayerInput = 0, kLayerCotangent = 10, kLayerWeights = 20 };

struct LayerParity {
  const char* name;
  Layer layer;
  std::vector<Shape> inputs;
};

void draw_layer_weights(const std::vector<Variable>& weights, uint64_t seed);

// The output, and the gradients of its product with a drawn tensor: of the inputs, then of the
// weights. Gives the number of values that were compared.
size_t compare_with_keras(const Recording& recording, const LayerParity& one,
                          const std::string& device);

}  // namespace stoker::test
