// Layers of residual branches, as the networks of applications.h use them; Keras keeps them inside
// keras.applications.
#pragma once

#include <stoker/layer.h>
#include <stoker/layer_options.h>

namespace stoker {

// In training the whole sample becomes 0 with probability `drop_path_rate`, and the others are
// scaled by 1 / (1 - drop_path_rate); in inference x. As Dropout with noise_shape = (None, 1, …, 1).
class StochasticDepth : public Layer {
 public:
  explicit StochasticDepth(double drop_path_rate, const LayerOptions& options = {});
};

struct LayerScaleOptions {
  Initializer initializer = "ones";
  std::string name = "";
  std::string dtype = "";
};
// x times one learnt number per channel, [.., C].
class LayerScale : public Layer {
 public:
  explicit LayerScale(const LayerScaleOptions& options = {});
};

// a + b · scale, of two inputs.
class CustomScaleLayer : public Layer {
 public:
  explicit CustomScaleLayer(double scale, const LayerOptions& options = {});
};

}  // namespace stoker
