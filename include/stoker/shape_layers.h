// Layers that repeat, pad, crop or enlarge, and the product of two inputs. Part of layers.h.
#pragma once

#include <string>

#include <stoker/layer.h>
#include <stoker/layer_options.h>
#include <stoker/volume.h>

namespace stoker {

class Identity : public Layer {  // its input, with its mask
 public:
  explicit Identity(const LayerOptions& options = {});
};
class RepeatVector : public Layer {  // [B, C] → [B, n, C]
 public:
  explicit RepeatVector(int64_t n, const LayerOptions& options = {});
};

class ZeroPadding2D : public Layer {
 public:
  explicit ZeroPadding2D(Edges2 padding = 1, const LayerOptions& options = {});
};
class Cropping2D : public Layer {
 public:
  explicit Cropping2D(Edges2 cropping = 0, const LayerOptions& options = {});
};
struct UpSampling2DOptions {
  std::string interpolation = "nearest";  // bilinear, bicubic, lanczos3, lanczos5
  std::string name = "";
  std::string dtype = "";
};
class UpSampling2D : public Layer {
 public:
  explicit UpSampling2D(Size2 size = 2, const UpSampling2DOptions& options = {});
};

// --- volumes, [B, D, H, W, C] -------------------------------------------------------------------

class ZeroPadding3D : public Layer {
 public:
  explicit ZeroPadding3D(Edges3 padding = 1, const LayerOptions& options = {});
};
class Cropping3D : public Layer {
 public:
  explicit Cropping3D(Edges3 cropping = 1, const LayerOptions& options = {});
};
class UpSampling3D : public Layer {  // repeats every voxel
 public:
  explicit UpSampling3D(Size3 size = 2, const LayerOptions& options = {});
};

// --- two inputs ---------------------------------------------------------------------------------

struct DotOptions {
  bool normalize = false;  // both inputs have length 1 along their axis: the cosine of the angle
  std::string name = "";
  std::string dtype = "";
};
// Dot(axes)({a, b}): sums over axis axes[0] of a and axes[1] of b, element by element of the batch.
// One axis stands for both. The other axes of a, then those of b, follow the batch; [B, 1] where
// there are none.
class Dot : public Layer {
 public:
  explicit Dot(Axes axes, const DotOptions& options = {});
};

}  // namespace stoker
