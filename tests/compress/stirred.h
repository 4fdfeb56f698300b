// Weights that are not those of new layers, so that a wrong slice shows.
#pragma once

#include "train/helpers.h"

namespace stoker::test {

inline void stir(const Model& model, uint64_t seed) {
  std::vector<Tensor> weights = model.get_weights();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].shape().rank() != 1 || weights[i].dtype() != DType::float32) continue;
    Tensor drawn = normal(weights[i].shape(), seed + i);
    float* values = drawn.data_mut<float>();
    for (int64_t k = 0; k < drawn.elements(); ++k) values[k] = 0.5F + 0.2F * std::abs(values[k]);
    weights[i] = drawn;
  }
  model.set_weights(weights);
}

}  // namespace stoker::test
