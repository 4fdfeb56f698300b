// Layers over time, [B, T, C], by Keras's names, with Keras's defaults and weights. Part of layers.h.
//
//   Conv1D(64, 5, {.padding = "causal", .activation = "relu"})
//
// Masks (layer.h): guide/shapes-and-masks.md says which layer does what with one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/layer.h>
#include <stoker/layer_options.h>

namespace stoker {

// --- convolution --------------------------------------------------------------------------------

struct Conv1DOptions {
  int64_t strides = 1;
  std::string padding = "valid";  // "same", or "causal": step t sees the steps up to t
  int64_t dilation_rate = 1;
  int64_t groups = 1;
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = "";
  std::string dtype = "";
};
// Kernel [kernel_size, C / groups, filters].
class Conv1D : public Layer {
 public:
  Conv1D(int64_t filters, int64_t kernel_size, const Conv1DOptions& options = {});
};

struct DepthwiseConv1DOptions {
  int64_t strides = 1;
  std::string padding = "valid";
  int64_t depth_multiplier = 1;
  int64_t dilation_rate = 1;
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint bias_constraint = {};
  std::string name = "";
  std::string dtype = "";
};
// Kernel [kernel_size, C, depth_multiplier].
class DepthwiseConv1D : public Layer {
 public:
  explicit DepthwiseConv1D(int64_t kernel_size, const DepthwiseConv1DOptions& options = {});
};

struct SeparableConv1DOptions {
  int64_t strides = 1;
  std::string padding = "valid";
  int64_t dilation_rate = 1;
  int64_t depth_multiplier = 1;
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer pointwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint pointwise_constraint = {};
  Constraint bias_constraint = {};
  std::string name = "";
  std::string dtype = "";
};
// Kernels [kernel_size, C, depth_multiplier] and [1, C · depth_multiplier, filters].
class SeparableConv1D : public Layer {
 public:
  SeparableConv1D(int64_t filters, int64_t kernel_size, const SeparableConv1DOptions& options = {});
};

struct Conv1DTransposeOptions {
  int64_t strides = 1;
  std::string padding = "valid";  // or "same": T · strides steps
  // Steps added at the end, below strides; none: as many as make the length that padding stands for.
  std::optional<int64_t> output_padding = {};
  int64_t dilation_rate = 1;
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = "";
  std::string dtype = "";
};
// The way back of a Conv1D: every step becomes `strides` of them. Kernel [kernel_size, filters, C].
class Conv1DTranspose : public Layer {
 public:
  Conv1DTranspose(int64_t filters, int64_t kernel_size, const Conv1DTransposeOptions& options = {});
};

// --- pooling ------------------------------------------------------------------------------------

struct Pooling1DOptions {
  int64_t strides = 0;  // 0: the pool's size
  std::string padding = "valid";
  std::string name = "";
  std::string dtype = "";
};
class MaxPooling1D : public Layer {
 public:
  explicit MaxPooling1D(int64_t pool_size = 2, const Pooling1DOptions& options = {});
};
class AveragePooling1D : public Layer {  // padding is not counted
 public:
  explicit AveragePooling1D(int64_t pool_size = 2, const Pooling1DOptions& options = {});
};

struct GlobalPooling1DOptions {
  bool keepdims = false;
  std::string name = "";
  std::string dtype = "";
};
// The mean over the steps that a mask lets count; NaN for a sample without one, as in Keras.
class GlobalAveragePooling1D : public Layer {
 public:
  explicit GlobalAveragePooling1D(const GlobalPooling1DOptions& options = {});
};
class GlobalMaxPooling1D : public Layer {
 public:
  explicit GlobalMaxPooling1D(const GlobalPooling1DOptions& options = {});
};

// --- reshaping ----------------------------------------------------------------------------------

class ZeroPadding1D : public Layer {
 public:
  explicit ZeroPadding1D(Edges1 padding = 1, const LayerOptions& options = {});
};
class Cropping1D : public Layer {
 public:
  explicit Cropping1D(Edges1 cropping = 1, const LayerOptions& options = {});
};
class UpSampling1D : public Layer {  // repeats every step
 public:
  explicit UpSampling1D(int64_t size = 2, const LayerOptions& options = {});
};

// --- Keras's other names ------------------------------------------------------------------------

using AvgPool1D = AveragePooling1D;
using MaxPool1D = MaxPooling1D;
using GlobalAvgPool1D = GlobalAveragePooling1D;
using GlobalMaxPool1D = GlobalMaxPooling1D;
using Convolution1D = Conv1D;
using Convolution1DTranspose = Conv1DTranspose;
using SeparableConvolution1D = SeparableConv1D;

}  // namespace stoker
