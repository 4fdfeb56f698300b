// What the tests of int8 models share.
#pragma once

#include <stoker/quantize.h>

#include <algorithm>
#include <cmath>

#include "train/helpers.h"

namespace stoker::test {

// Random statistics, so that folding them is more than copying.
inline void shake_norms(const Model& model, uint64_t seed = 3) {
  for (const Layer& layer : model.layers()) {
    if (layer.base().kind() != "BatchNormalization") continue;
    std::vector<Tensor> weights = layer.get_weights();
    for (size_t i = 0; i < weights.size(); ++i) {
      Tensor drawn = normal(weights[i].shape(), seed++).clone();
      for (int64_t at = 0; at < drawn.elements(); ++at) {
        float& value = drawn.data_mut<float>()[at];
        value = i == 0 || i == 3 ? 1 + 0.3F * std::abs(value) : 0.2F * value;
      }
      weights[i] = drawn;
    }
    layer.set_weights(weights);
  }
}

inline int64_t count_kind(const Model& model, const std::string& kind) {
  return std::ranges::count_if(model.layers(),
                               [&](const Layer& layer) { return layer.base().kind() == kind; });
}

// The largest difference, of the spread of what is expected.
inline double apart(const Tensor& got, const Tensor& expected) {
  double most = 0, largest = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    most = std::max(most, std::abs(got.at(i) - expected.at(i)));
    largest = std::max(largest, std::abs(expected.at(i)));
  }
  return most / largest;
}

}  // namespace stoker::test
