// Noise, dropout and penalties, by Keras's names. Part of layers.h. Noise and
// dropout do nothing in inference. They draw from the model's random state: the same seed gives the
// same numbers, and a resumed run continues with them.
#pragma once

#include <string>
#include <vector>

#include <stoker/layer.h>
#include <stoker/layer_options.h>

namespace stoker {

// x + noise of mean 0.
class GaussianNoise : public Layer {
 public:
  explicit GaussianNoise(double stddev, const LayerOptions& options = {});
};
// x times noise of mean 1 and deviation sqrt(rate / (1 - rate)).
class GaussianDropout : public Layer {
 public:
  explicit GaussianDropout(double rate, const LayerOptions& options = {});
};

struct DropoutOptions {
  // Where it has 1, one draw decides for the whole axis; -1: the input's extent. Empty: one draw per
  // element.
  std::vector<int64_t> noise_shape = {};
  std::string name = "";
  std::string dtype = "";
};
// Sets this share of the elements to 0, and scales the rest by 1 / (1 - rate).
class Dropout : public Layer {
 public:
  explicit Dropout(double rate, const DropoutOptions& options = {});
};
using AlphaDropoutOptions = DropoutOptions;
// Sets elements to the negative end of selu, and keeps mean and variance as they were.
class AlphaDropout : public Layer {
 public:
  explicit AlphaDropout(double rate, const AlphaDropoutOptions& options = {});
};

// Drops whole feature maps: a channel of a sequence, an image or a volume.
class SpatialDropout1D : public Layer {  // [B, T, C]
 public:
  explicit SpatialDropout1D(double rate, const LayerOptions& options = {});
};
class SpatialDropout2D : public Layer {  // [B, H, W, C]
 public:
  explicit SpatialDropout2D(double rate, const LayerOptions& options = {});
};
class SpatialDropout3D : public Layer {  // [B, D, H, W, C]
 public:
  explicit SpatialDropout3D(double rate, const LayerOptions& options = {});
};

struct ActivityRegularizationOptions {
  double l1 = 0.0;
  double l2 = 0.0;
  std::string name = "";
  std::string dtype = "";
};
// Its input as it is; adds l1 · Σ|x| + l2 · Σx², per sample, to the loss.
class ActivityRegularization : public Layer {
 public:
  explicit ActivityRegularization(const ActivityRegularizationOptions& options = {});
};

struct SpectralNormalizationOptions {
  int64_t power_iterations = 1;
  std::string name = "";
  std::string dtype = "";
};
// Around a Dense or a convolution whose kernel is divided by its largest singular value in every
// training step, before it is used. Power iterations from the last step's vector estimate it.
class SpectralNormalization : public Layer {
 public:
  explicit SpectralNormalization(const Layer& layer,
                                 const SpectralNormalizationOptions& options = {});
};

}  // namespace stoker
