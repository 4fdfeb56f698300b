// The options of a layer's kernels, the same for dense layers and convolutions: their rows in the
// table of fields, and the weight that they describe.
#pragma once

#include <stoker/layer.h>

#include "base/fields.h"

namespace stoker {

template <class Config>
Fields<Config> kernel_fields() {
  return {{"kernel_initializer", &Config::kernel_initializer},
          {"kernel_regularizer", &Config::kernel_regularizer},
          {"kernel_constraint", &Config::kernel_constraint}};
}
template <class Options>
WeightOptions kernel_weight(const Options& options) {
  return {.initializer = options.kernel_initializer,
          .regularizer = options.kernel_regularizer,
          .constraint = options.kernel_constraint};
}

template <class Config>
Fields<Config> depthwise_fields() {
  return {{"depthwise_initializer", &Config::depthwise_initializer},
          {"depthwise_regularizer", &Config::depthwise_regularizer},
          {"depthwise_constraint", &Config::depthwise_constraint}};
}
template <class Options>
WeightOptions depthwise_weight(const Options& options) {
  return {.initializer = options.depthwise_initializer,
          .regularizer = options.depthwise_regularizer,
          .constraint = options.depthwise_constraint};
}

// A depthwise kernel and the pointwise one behind it.
template <class Config>
Fields<Config> separable_fields() {
  return {{"depthwise_initializer", &Config::depthwise_initializer},
          {"pointwise_initializer", &Config::pointwise_initializer},
          {"depthwise_regularizer", &Config::depthwise_regularizer},
          {"depthwise_constraint", &Config::depthwise_constraint},
          {"pointwise_regularizer", &Config::pointwise_regularizer},
          {"pointwise_constraint", &Config::pointwise_constraint}};
}
template <class Options>
WeightOptions pointwise_weight(const Options& options) {
  return {.initializer = options.pointwise_initializer,
          .regularizer = options.pointwise_regularizer,
          .constraint = options.pointwise_constraint};
}

}  // namespace stoker
