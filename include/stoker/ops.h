// The ops a custom layer or loss is written with. Each appends one or more nodes to the graph (or
// sketch) of its inputs and checks shapes at once: an error says which op, what it got and what it
// expected. Images are channels last, [B, H, W, C]. docs/reference/ops.md has the exact meanings.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include <stoker/value.h>

namespace stoker::ops {

// --- elementwise, floats ---------------------------------------------------------------------
Value abs(const Value& x);
Value exp(const Value& x);
Value log(const Value& x);
Value log1p(const Value& x);
Value sqrt(const Value& x);
Value rsqrt(const Value& x);
Value square(const Value& x);
Value reciprocal(const Value& x);
Value sign(const Value& x);
Value floor(const Value& x);
Value sin(const Value& x);
Value cos(const Value& x);
Value erf(const Value& x);
Value clip(const Value& x, double low, double high);

// Any activation by Keras's name ("relu", "gelu", "softmax", …); a wrong name lists the right ones.
// "linear" and "" return x itself.
Value activation(const Value& x, const std::string& name);
Value relu(const Value& x);
Value leaky_relu(const Value& x, double negative_slope = 0.2);
Value elu(const Value& x, double alpha = 1.0);
Value sigmoid(const Value& x);
Value tanh(const Value& x);
Value gelu(const Value& x, bool approximate = false);
Value silu(const Value& x);
Value softplus(const Value& x);
Value softmax(const Value& x, int axis = -1);
Value log_softmax(const Value& x, int axis = -1);

// --- two operands, broadcasting --------------------------------------------------------------
Value pow(const Value& a, const Value& b);
Value maximum(const Value& a, const Value& b);
Value minimum(const Value& a, const Value& b);
Value equal(const Value& a, const Value& b);          // bool
Value not_equal(const Value& a, const Value& b);      // bool
Value less(const Value& a, const Value& b);           // bool
Value less_equal(const Value& a, const Value& b);     // bool
Value greater(const Value& a, const Value& b);        // bool
Value greater_equal(const Value& a, const Value& b);  // bool
Value where(const Value& condition, const Value& a, const Value& b);

// --- reductions ------------------------------------------------------------------------------
struct Reduce {
  std::vector<int64_t> axes = {};  // empty: all
  bool keepdims = false;
};
Value sum(const Value& x, const Reduce& options = {});
Value mean(const Value& x, const Reduce& options = {});
Value max(const Value& x, const Reduce& options = {});
Value min(const Value& x, const Reduce& options = {});
Value prod(const Value& x, const Reduce& options = {});
Value argmax(const Value& x, int axis = -1);  // int64; the first of equals

// --- shape -----------------------------------------------------------------------------------
Value reshape(const Value& x, const Shape& shape);                       // one dimension may be -1
Value flatten(const Value& x);                                           // [B, …] → [B, n]
Value transpose(const Value& x, const std::vector<int64_t>& perm = {});  // {}: axes reversed
Value concatenate(const Values& values, int axis = -1);
Values split(const Value& x, int parts, int axis = -1);
// A size of -1 means: to the end.
Value slice(const Value& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& size);
Value pad(const Value& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
          double value = 0);
Value expand_dims(const Value& x, int axis);
Value squeeze(const Value& x, int axis);
Value broadcast_to(const Value& x, const Shape& shape);
Value cast(const Value& x, DType dtype);
Value stop_gradient(const Value& x);

// --- linear algebra, convolution, pooling ----------------------------------------------------
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
};
// [.., M, K] · [.., K, N]; batches broadcast, and a vector is a row on the left, a column on the right.
Value matmul(const Value& a, const Value& b, const MatMul& options = {});

// Explicit padding in pixels; same_padding() gives Keras's "same".
struct Padding {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
};
Padding same_padding(const Shape& input, std::array<int64_t, 2> window,
                     std::array<int64_t, 2> strides, std::array<int64_t, 2> dilation = {1, 1});

struct Conv {
  std::array<int64_t, 2> strides = {1, 1};
  Padding padding = {};
  std::array<int64_t, 2> dilation = {1, 1};
  int64_t groups = 1;
};
// x: [B, H, W, C], kernel: [kh, kw, C / groups, filters] → [B, H', W', filters]
Value conv2d(const Value& x, const Value& kernel, const Conv& options = {});
// kernel: [kh, kw, C, multiplier] → [B, H', W', C * multiplier]
Value depthwise_conv2d(const Value& x, const Value& kernel, const Conv& options = {});

struct ConvTranspose {
  std::array<int64_t, 2> strides = {1, 1};
  Padding padding = {};                            // removed from the edges of the result
  std::array<int64_t, 2> output_padding = {0, 0};  // rows and columns added at its end, < strides
  std::array<int64_t, 2> dilation = {1, 1};
  int64_t groups = 1;
};
// The way back of a conv2d with the same kernel, strides and padding, from the shape that it makes
// to the shape that it takes: x: [B, H, W, C], kernel: [kh, kw, filters / groups, C]
// → [B, (H - 1) · stride + dilation · (kh - 1) + 1 - top - bottom + output_padding, …, filters]
Value conv2d_transpose(const Value& x, const Value& kernel, const ConvTranspose& options = {});

struct Pool {
  std::array<int64_t, 2> window = {2, 2};
  std::array<int64_t, 2> strides = {2, 2};
  Padding padding = {};
};
Value max_pool2d(const Value& x, const Pool& options = {});
Value average_pool2d(const Value& x, const Pool& options = {});  // padding is not counted

// --- normalisation ---------------------------------------------------------------------------
struct BatchNormResult {
  Value y, mean, variance;  // of this batch; variance without Bessel's correction
};
BatchNormResult batch_norm(const Value& x, const Value& gamma, const Value& beta,
                           double epsilon = 1e-3);
Value batch_norm_inference(const Value& x, const Value& gamma, const Value& beta, const Value& mean,
                           const Value& variance, double epsilon = 1e-3);
// Over the last gamma.rank() dimensions.
Value layer_norm(const Value& x, const Value& gamma, const Value& beta, double epsilon = 1e-3);
// v scaled to length g along every axis but `axis`: g * v / |v|.
Value weight_norm(const Value& v, const Value& g, int axis = -1);

// --- lookup, randomness, losses --------------------------------------------------------------
Value gather(const Value& table, const Value& indices);  // rows of dimension 0
Value one_hot(const Value& indices, int64_t depth, DType dtype = DType::float32);
Value in_top_k(const Value& predictions, const Value& targets, int k);  // bool [B]
// Zeroes each element with probability `rate` and scales the rest by 1 / (1 - rate). `state` is the
// graph's random state (int64 [2]: seed, step); `stream` distinguishes the dropouts of one graph.
Value dropout(const Value& x, const Value& state, double rate, int64_t stream);
// logits [.., C], class ids [..] → float32 [..]
Value sparse_softmax_cross_entropy(const Value& logits, const Value& labels);
// logits and targets [.., C] → float32 [..]
Value softmax_cross_entropy(const Value& logits, const Value& targets);
Value sigmoid_cross_entropy(const Value& logits, const Value& targets);  // elementwise

// --- loops and recurrence --------------------------------------------------------------------

// What a step of a loop gives: the carry for the next step, and results that are stacked.
struct ScanStep {
  Values carry = {};
  Values outputs = {};
};
using ScanFunction = std::function<ScanStep(const Values& carry, const Values& slices)>;
struct Scan {
  bool reverse = false;                // from the last slice to the first
  std::optional<int64_t> length = {};  // needed where there are no sequences
};
struct ScanResult {
  Values carry;    // after the last step
  Values outputs;  // [T, …], in the order of the sequences
};
// Runs `step` on the slices of the sequences [T, …] along dimension 0, in one node of the graph: it
// is traced once, whatever the length, and differentiated as a loop back. The carry keeps its specs;
// a float carry keeps its dtype. `step` may use variables and any values around it, random numbers
// (other ones in every step) and further loops. It cannot assign variables. Inside Layer::call and
// function(); behind Input(), in a Lambda.
//   Value sum = ops::scan([](const Values& carry, const Values& x) {
//     Value next = carry[0] * 0.9 + x[0];
//     return ops::ScanStep{{next}, {next}};
//   }, {start}, {sequence}).outputs[0];
ScanResult scan(const ScanFunction& step, const Values& carry, const Values& sequences,
                const Scan& options = {});

struct Recurrent {
  std::string cell = "lstm";  // lstm, gru (reset after the product), rnn_tanh, rnn_relu
  bool reverse = false;       // from the last step to the first; results stand where they belong
  bool zero_masked = false;   // masked steps give 0; else the output before them, 0 at first
};
struct RecurrentResult {
  Value outputs;  // [B, T, units]
  Values states;  // after the last step: h, and c of an lstm; [B, units]
};
// A whole recurrent layer. x: [B, T, F]; kernel: [F, gates · units], recurrent_kernel: [units,
// gates · units], bias: [gates · units], of a gru [2, gates · units] (input, recurrent); gates in
// Keras's order: i, f, c, o and z, r, h. states: h, and c of an lstm. mask: bool [B, T], may be
// undefined; where it is false the states stay as they are.
RecurrentResult recurrent(const Value& x, const Value& kernel, const Value& recurrent_kernel,
                          const Value& bias, const Values& states, const Value& mask = {},
                          const Recurrent& options = {});

}  // namespace stoker::ops

// The rest, by subject.
#include <stoker/ops_any_rank.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_fft.h>
#include <stoker/ops_image.h>
#include <stoker/ops_linalg.h>
#include <stoker/ops_loops.h>
#include <stoker/ops_math.h>
#include <stoker/ops_nn.h>
#include <stoker/ops_random.h>
#include <stoker/ops_statistics.h>
