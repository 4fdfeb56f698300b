// Convolutions of images and volumes, transposed ones and convolutional LSTMs, by Keras's names, with
// Keras's defaults and weights. Part of layers.h. Images are [B, H, W, C], volumes [B, D, H, W, C].
//
//   Conv2DTranspose(64, 4, {.strides = 2, .padding = "same"})  // twice the height and the width
#pragma once

#include <optional>
#include <string>

#include <stoker/layer.h>
#include <stoker/layer_options.h>
#include <stoker/volume.h>

namespace stoker {

// --- images -------------------------------------------------------------------------------------

struct Conv2DOptions {
  Size2 strides = 1;
  std::string padding = "valid";  // or "same"
  Size2 dilation_rate = 1;
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
class Conv2D : public Layer {
 public:
  Conv2D(int64_t filters, Size2 kernel_size, const Conv2DOptions& options = {});
};

struct DepthwiseConv2DOptions {
  Size2 strides = 1;
  std::string padding = "valid";
  int64_t depth_multiplier = 1;
  Size2 dilation_rate = 1;
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
class DepthwiseConv2D : public Layer {
 public:
  explicit DepthwiseConv2D(Size2 kernel_size, const DepthwiseConv2DOptions& options = {});
};

struct SeparableConv2DOptions {
  Size2 strides = 1;
  std::string padding = "valid";
  Size2 dilation_rate = 1;
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
class SeparableConv2D : public Layer {
 public:
  SeparableConv2D(int64_t filters, Size2 kernel_size, const SeparableConv2DOptions& options = {});
};

// --- transposed convolution ---------------------------------------------------------------------

struct Conv2DTransposeOptions {
  Size2 strides = 1;
  std::string padding = "valid";  // or "same": strides times as many pixels
  // Pixels added at the bottom and the right, below strides; none: as many as make the size that
  // padding stands for.
  std::optional<Size2> output_padding = {};
  Size2 dilation_rate = 1;
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
// The way back of a Conv2D: every pixel becomes `strides` of them. Kernel [kh, kw, filters, C].
class Conv2DTranspose : public Layer {
 public:
  Conv2DTranspose(int64_t filters, Size2 kernel_size, const Conv2DTransposeOptions& options = {});
};

struct Conv3DTransposeOptions {
  Size3 strides = 1;
  std::string padding = "valid";
  std::optional<Size3> output_padding = {};
  Size3 dilation_rate = 1;
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
// Kernel [kd, kh, kw, filters, C].
class Conv3DTranspose : public Layer {
 public:
  Conv3DTranspose(int64_t filters, Size3 kernel_size, const Conv3DTransposeOptions& options = {});
};

// --- volumes ------------------------------------------------------------------------------------

struct Conv3DOptions {
  Size3 strides = 1;
  std::string padding = "valid";
  Size3 dilation_rate = 1;
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
// Kernel [kd, kh, kw, C / groups, filters].
class Conv3D : public Layer {
 public:
  Conv3D(int64_t filters, Size3 kernel_size, const Conv3DOptions& options = {});
};

// --- convolutional LSTM -------------------------------------------------------------------------

// For ConvLSTM1D, 2D and 3D, whose sizes are int64_t, Size2 and Size3.
template <class Size>
struct ConvLSTMOptions {
  Size strides = 1;  // of the convolution of the inputs
  std::string padding = "valid";
  Size dilation_rate = 1;
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  bool unit_forget_bias = true;  // the forget gate's bias begins at 1
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;            // of the inputs; one mask per gate for all steps
  double recurrent_dropout = 0.0;  // of the state; one mask per gate for all steps
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  std::string name = "";
  std::string dtype = "";
};
using ConvLSTM1DOptions = ConvLSTMOptions<int64_t>;
using ConvLSTM2DOptions = ConvLSTMOptions<Size2>;
using ConvLSTM3DOptions = ConvLSTMOptions<Size3>;

// LSTMs whose products are convolutions: [B, T, …, C] → [B, …, filters], or with return_sequences
// [B, T, …, filters]. The state is convolved with "same" padding. Kernels [k…, C, 4 · filters] and
// [k…, filters, 4 · filters], gates in the order i, f, c, o. States and masks as in LSTM.
class ConvLSTM1D : public Layer {  // [B, T, L, C]
 public:
  ConvLSTM1D(int64_t filters, int64_t kernel_size, const ConvLSTM1DOptions& options = {});
};
class ConvLSTM2D : public Layer {  // [B, T, H, W, C]
 public:
  ConvLSTM2D(int64_t filters, Size2 kernel_size, const ConvLSTM2DOptions& options = {});
};
class ConvLSTM3D : public Layer {  // [B, T, D, H, W, C]
 public:
  ConvLSTM3D(int64_t filters, Size3 kernel_size, const ConvLSTM3DOptions& options = {});
};

// --- Keras's other names ------------------------------------------------------------------------

using Convolution2D = Conv2D;
using SeparableConvolution2D = SeparableConv2D;
using Convolution3D = Conv3D;
using Convolution2DTranspose = Conv2DTranspose;
using Convolution3DTranspose = Conv3DTranspose;

}  // namespace stoker
