// Activations, normalisation, one-dimensional convolution and losses as functions, with Keras's
// arguments, beside those of <stoker/ops.h>.
#pragma once

#include <string>
#include <vector>

#include <stoker/ops.h>

namespace stoker::ops {

// --- activations -----------------------------------------------------------------------------
Value relu6(const Value& x);
Value selu(const Value& x);
Value celu(const Value& x, double alpha = 1);
Value swish(const Value& x);
Value mish(const Value& x);
Value hard_sigmoid(const Value& x);
Value hard_silu(const Value& x);
Value hard_swish(const Value& x);
Value hard_tanh(const Value& x);
Value hard_shrink(const Value& x, double threshold = 0.5);
Value soft_shrink(const Value& x, double threshold = 0.5);
Value tanh_shrink(const Value& x);
Value softsign(const Value& x);
Value log_sigmoid(const Value& x);
Value squareplus(const Value& x, double b = 4);
Value threshold(const Value& x, double threshold, double default_value);
Value glu(const Value& x, int axis = -1);        // a · sigmoid(b) of the two halves
Value sparsemax(const Value& x, int axis = -1);  // the nearest point of the simplex
Value sparse_plus(const Value& x);
Value sparse_sigmoid(const Value& x);

// --- normalisation ---------------------------------------------------------------------------
struct Normalize {
  int axis = -1;
  int order = 2;  // of the norm
  double epsilon = 1e-7;
};
Value normalize(const Value& x, const Normalize& options = {});
// (x - mean) / sqrt(variance + epsilon) · scale + offset along one axis; offset and scale may be
// undefined.
struct BatchNormalization {
  int axis = -1;
  Value offset = {};
  Value scale = {};
  double epsilon = 1e-3;
};
Value batch_normalization(const Value& x, const Value& mean, const Value& variance,
                          const BatchNormalization& options = {});
struct LayerNormalization {
  Value gamma = {};
  Value beta = {};
  int axis = -1;
  double epsilon = 1e-3;
};
Value layer_normalization(const Value& x, const LayerNormalization& options = {});
struct RmsNormalization {
  Value scale = {};
  int axis = -1;
  double epsilon = 1e-3;
};
Value rms_normalization(const Value& x, const RmsNormalization& options = {});

// --- convolution and pooling over time -------------------------------------------------------
struct Conv1dOptions {
  int64_t strides = 1;
  std::string padding = "valid";  // same, causal
  int64_t dilation = 1;
  int64_t groups = 1;
};
// x: [B, T, C], kernel: [k, C / groups, filters] → [B, T', filters]
Value conv1d(const Value& x, const Value& kernel, const Conv1dOptions& options = {});
// kernel: [k, filters, C] → [B, (T - 1) · strides + k, filters], "same": [B, T · strides, filters]
Value conv1d_transpose(const Value& x, const Value& kernel, const Conv1dOptions& options = {});
// A depthwise convolution, then one by points.
Value separable_conv2d(const Value& x, const Value& depthwise_kernel, const Value& pointwise_kernel,
                       const Conv& options = {});
struct Pool1dOptions {
  int64_t pool_size = 2;
  int64_t strides = 0;            // 0: pool_size
  std::string padding = "valid";  // same
};
Value max_pool1d(const Value& x, const Pool1dOptions& options = {});
Value average_pool1d(const Value& x, const Pool1dOptions& options = {});
// Windows of nearly equal size that make an image of this size: [B, H, W, C].
Value adaptive_average_pool2d(const Value& x, int64_t height, int64_t width);
Value adaptive_max_pool2d(const Value& x, int64_t height, int64_t width);
// Columns of the windows of an image, and back (overlaps are added): [B, H, W, C] ↔
// [B, windows, kernel² · C].
struct Windows {
  int64_t kernel = 2;
  int64_t stride = 1;
  int64_t dilation = 1;
};
Value unfold(const Value& x, const Windows& options);
Value fold(const Value& columns, int64_t height, int64_t width, const Windows& options);

// --- classes and losses ----------------------------------------------------------------------
Value multi_hot(const Value& indices, int64_t num_classes, int axis = -1);  // the axis is summed
Value binary_crossentropy(const Value& target, const Value& output, bool from_logits = false);
Value categorical_crossentropy(const Value& target, const Value& output, bool from_logits = false);
Value sparse_categorical_crossentropy(const Value& target, const Value& output,
                                      bool from_logits = false);
struct CtcDecode {
  std::string strategy = "greedy";  // beam_search
  int64_t beam_width = 100;
  int64_t top_paths = 1;       // of a beam search: how many sequences
  bool merge_repeated = true;  // of "greedy"; a beam search always merges
  int64_t mask_index = 0;      // the class that stands for nothing
};
struct CtcDecoded {
  Value sequences;  // [paths, B, T] int32, -1 behind the end
  Value scores;     // [B, paths]; greedy: -Σ of the logits taken, beam_search: log probabilities
};
// logits [B, T, classes] and lengths [B] to the likeliest sequences. No gradient.
CtcDecoded ctc_decode(const Value& logits, const Value& lengths, const CtcDecode& options = {});
Value psnr(const Value& a, const Value& b, double max_value);  // in decibels

}  // namespace stoker::ops
