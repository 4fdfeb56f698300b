// Pooling of images and volumes, and adaptive pooling, by Keras's names. Part of layers.h.
#pragma once

#include <string>

#include <stoker/layer.h>
#include <stoker/layer_options.h>
#include <stoker/volume.h>

namespace stoker {

// --- images, [B, H, W, C] -----------------------------------------------------------------------

struct Pooling2DOptions {
  Size2 strides = 0;  // 0: the pool's size
  std::string padding = "valid";
  std::string name = "";
  std::string dtype = "";
};
class MaxPooling2D : public Layer {
 public:
  explicit MaxPooling2D(Size2 pool_size = 2, const Pooling2DOptions& options = {});
};
class AveragePooling2D : public Layer {  // padding is not counted
 public:
  explicit AveragePooling2D(Size2 pool_size = 2, const Pooling2DOptions& options = {});
};

struct GlobalPooling2DOptions {
  bool keepdims = false;
  std::string name = "";
  std::string dtype = "";
};
class GlobalAveragePooling2D : public Layer {
 public:
  explicit GlobalAveragePooling2D(const GlobalPooling2DOptions& options = {});
};
class GlobalMaxPooling2D : public Layer {
 public:
  explicit GlobalMaxPooling2D(const GlobalPooling2DOptions& options = {});
};

// --- volumes, [B, D, H, W, C] -------------------------------------------------------------------

struct Pooling3DOptions {
  Size3 strides = 0;  // 0: the pool's size
  std::string padding = "valid";
  std::string name = "";
  std::string dtype = "";
};
class MaxPooling3D : public Layer {
 public:
  explicit MaxPooling3D(Size3 pool_size = 2, const Pooling3DOptions& options = {});
};
class AveragePooling3D : public Layer {  // padding is not counted
 public:
  explicit AveragePooling3D(Size3 pool_size = 2, const Pooling3DOptions& options = {});
};

struct GlobalPooling3DOptions {
  bool keepdims = false;
  std::string name = "";
  std::string dtype = "";
};
class GlobalAveragePooling3D : public Layer {
 public:
  explicit GlobalAveragePooling3D(const GlobalPooling3DOptions& options = {});
};
class GlobalMaxPooling3D : public Layer {
 public:
  explicit GlobalMaxPooling3D(const GlobalPooling3DOptions& options = {});
};

// --- adaptive: `output_size` windows per axis, whatever the input's size ------------------------

// Window i of n over an axis of length L goes from ⌊i · L / n⌋ to ⌈(i + 1) · L / n⌉.
class AdaptiveAveragePooling1D : public Layer {  // [B, T, C]
 public:
  explicit AdaptiveAveragePooling1D(int64_t output_size, const LayerOptions& options = {});
};
class AdaptiveAveragePooling2D : public Layer {  // [B, H, W, C]
 public:
  explicit AdaptiveAveragePooling2D(Size2 output_size, const LayerOptions& options = {});
};
class AdaptiveAveragePooling3D : public Layer {  // [B, D, H, W, C]
 public:
  explicit AdaptiveAveragePooling3D(Size3 output_size, const LayerOptions& options = {});
};
class AdaptiveMaxPooling1D : public Layer {
 public:
  explicit AdaptiveMaxPooling1D(int64_t output_size, const LayerOptions& options = {});
};
class AdaptiveMaxPooling2D : public Layer {
 public:
  explicit AdaptiveMaxPooling2D(Size2 output_size, const LayerOptions& options = {});
};
class AdaptiveMaxPooling3D : public Layer {
 public:
  explicit AdaptiveMaxPooling3D(Size3 output_size, const LayerOptions& options = {});
};

// --- Keras's other names ------------------------------------------------------------------------

using AvgPool2D = AveragePooling2D;
using MaxPool2D = MaxPooling2D;
using GlobalAvgPool2D = GlobalAveragePooling2D;
using GlobalMaxPool2D = GlobalMaxPooling2D;
using AvgPool3D = AveragePooling3D;
using MaxPool3D = MaxPooling3D;
using GlobalAvgPool3D = GlobalAveragePooling3D;
using GlobalMaxPool3D = GlobalMaxPooling3D;

}  // namespace stoker
