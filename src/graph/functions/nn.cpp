// Activations, normalisation and losses under Keras's names.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>
#include <stoker/ops_nn.h>
#include <stoker/ops_statistics.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"

namespace stoker::ops {

// --- activations ---

Value relu6(const Value& x) { return emit::unary("relu6", x); }
Value selu(const Value& x) { return emit::unary("selu", x); }
Value swish(const Value& x) { return silu(x); }
Value mish(const Value& x) { return emit::unary("mish", x); }
Value hard_sigmoid(const Value& x) { return emit::unary("hard_sigmoid", x); }
Value hard_silu(const Value& x) { return emit::unary("hard_silu", x); }
Value hard_swish(const Value& x) { return hard_silu(x); }
Value hard_tanh(const Value& x) { return emit::unary("hard_tanh", x); }
Value tanh_shrink(const Value& x) { return emit::unary("tanh_shrink", x); }
Value softsign(const Value& x) { return emit::unary("softsign", x); }
Value log_sigmoid(const Value& x) { return emit::unary("log_sigmoid", x); }

namespace {

double checked(const char* what, const char* option, double value, bool fits) {
  if (!fits) throw ValueError(fmt::format("{}: {} is {}", what, option, value));
  return value;
}

}  // namespace

Value celu(const Value& x, double alpha) {
  return emit::unary("celu", x, checked("celu", "alpha must be above 0, it", alpha, alpha > 0));
}
Value hard_shrink(const Value& x, double limit) {
  return emit::unary(
      "hard_shrink", x,
      checked("hard_shrink", "threshold must not be negative, it", limit, limit >= 0));
}
Value soft_shrink(const Value& x, double limit) {
  return emit::unary(
      "soft_shrink", x,
      checked("soft_shrink", "threshold must not be negative, it", limit, limit >= 0));
}
Value squareplus(const Value& x, double b) {
  return emit::unary("squareplus", x,
                     checked("squareplus", "b must not be negative, it", b, b >= 0));
}
Value threshold(const Value& x, double limit, double default_value) {
  return emit::unary("threshold", x, limit, default_value);
}

Value glu(const Value& x, int axis) {
  Values halves = split(x, 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

// With z sorted falling, the support are the k first for which 1 + k · z[k] exceeds the sum of the
// first k; what they exceed one by is taken off each.
Value sparsemax(const Value& x, int axis) {
  int64_t at = normalize_axis("sparsemax", axis, x.shape().rank());
  Value logits = to_last(float_of(x), at);
  int64_t n = logits.shape()[-1];
  Value sorted = top_k(logits, n).values, sums = cumsum(sorted);
  Value ranks = Value(linspace(1, double(n), {.num = n}));
  Value in_support = emit::cast(greater(sorted * ranks + 1.0, sums), logits.dtype());
  Value size = sum(in_support, {.axes = {-1}, .keepdims = true});
  Value excess = (sum(sorted * in_support, {.axes = {-1}, .keepdims = true}) - 1.0) / size;
  return from_last(relu(logits - excess), at);
}

// Keras's pieces: 0, (x + 1)² / 4, x.
Value sparse_plus(const Value& x) {
  return where(less_equal(x, -1.0), 0.0, where(greater_equal(x, 1.0), x, square(x + 1.0) * 0.25));
}
Value sparse_sigmoid(const Value& x) { return clip((x + 1.0) * 0.5, 0, 1); }

// --- normalisation ---

namespace {

// A vector that stands along one axis.
Value along(const Value& vector, int64_t axis, int rank) {
  if (vector.shape().rank() != 1) return vector;
  Ints dims(size_t(rank), 1);
  dims[size_t(axis)] = vector.shape()[0];
  return emit::reshape(vector, Shape(std::span<const int64_t>(dims)));
}

Value scaled(const Value& x, const Value& scale, const Value& offset, int64_t axis) {
  int rank = x.shape().rank();
  Value y = scale.defined() ? x * along(scale, axis, rank) : x;
  return offset.defined() ? y + along(offset, axis, rank) : y;
}

}  // namespace

Value normalize(const Value& x, const Normalize& options) {
  if (options.order < 1)
    throw ValueError(fmt::format("normalize: order must be 1 or more, got {}", options.order));
  Value wide = float_of(x);
  Reduce over{.axes = {options.axis}, .keepdims = true};
  if (options.order == 2) {
    Value squares = sum(square(wide), over);
    return wide * rsqrt(maximum(squares, options.epsilon * options.epsilon));
  }
  Value sums = sum(pow(abs(wide), double(options.order)), over);
  Value size = pow(maximum(sums, std::pow(options.epsilon, options.order)), 1.0 / options.order);
  return wide / size;
}

Value batch_normalization(const Value& x, const Value& mean, const Value& variance,
                          const BatchNormalization& options) {
  int rank = x.shape().rank();
  int64_t axis = normalize_axis("batch_normalization", options.axis, rank);
  Value y = (x - along(mean, axis, rank)) * rsqrt(along(variance, axis, rank) + options.epsilon);
  return scaled(y, options.scale, options.offset, axis);
}

Value layer_normalization(const Value& x, const LayerNormalization& options) {
  int64_t axis = normalize_axis("layer_normalization", options.axis, x.shape().rank());
  Reduce over{.axes = {axis}, .keepdims = true};
  Value centred = x - mean(x, over);
  Value y = centred * rsqrt(mean(square(centred), over) + options.epsilon);
  return scaled(y, options.gamma, options.beta, axis);
}

Value rms_normalization(const Value& x, const RmsNormalization& options) {
  int64_t axis = normalize_axis("rms_normalization", options.axis, x.shape().rank());
  Value squares = mean(square(x), {.axes = {axis}, .keepdims = true});
  return scaled(x * rsqrt(squares + options.epsilon), options.scale, {}, axis);
}

// --- classes and losses ---

Value multi_hot(const Value& indices, int64_t num_classes, int axis) {
  int64_t at = normalize_axis("multi_hot", axis, indices.shape().rank());
  return max(one_hot(indices, num_classes), {.axes = {at}});
}

namespace {

constexpr double kInside = 1e-7;  // probabilities stay this far from 0 and 1, as Keras's

}  // namespace

Value binary_crossentropy(const Value& target, const Value& output, bool from_logits) {
  Value wanted = float_of(target);
  if (from_logits) return sigmoid_cross_entropy(output, wanted);
  Value p = clip(output, kInside, 1 - kInside);
  return -(wanted * log(p) + (1.0 - wanted) * log(1.0 - p));
}

Value categorical_crossentropy(const Value& target, const Value& output, bool from_logits) {
  Value wanted = float_of(target);
  if (from_logits) return softmax_cross_entropy(output, wanted);
  Value p = output / sum(output, {.axes = {-1}, .keepdims = true});
  return -sum(wanted * log(clip(p, kInside, 1 - kInside)), {.axes = {-1}});
}

Value sparse_categorical_crossentropy(const Value& target, const Value& output, bool from_logits) {
  if (from_logits) return sparse_softmax_cross_entropy(output, target);
  return sparse_softmax_cross_entropy(log(clip(output, kInside, 1 - kInside)), target);
}

Value psnr(const Value& a, const Value& b, double max_value) {
  checked("psnr", "max_value must be above 0, it", max_value, max_value > 0);
  return 20 * std::log10(max_value) - log10(mean(square(float_of(a) - float_of(b)))) * 10.0;
}

}  // namespace stoker::ops
