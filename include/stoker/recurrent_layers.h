// Recurrent layers by Keras's names, with Keras's defaults, weights and order of gates. Part of
// layers.h.
//
//   LSTM(64, {.return_sequences = true})
//   Bidirectional(LSTM(64))
//   RNN(make_layer<MyCell>(32), {.return_sequences = true})
//
// Input: [B, T, features]; the first value of a call is the sequence, further ones are the initial
// states: lstm({x, h, c}). Output: [B, units], or [B, T, units] with return_sequences; call_all()
// gives the last states behind it with return_state. A masked step leaves the states as they are and
// repeats the output before it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/layer.h>
#include <stoker/layer_options.h>

namespace stoker {

// --- cells --------------------------------------------------------------------------------------

// One step of a recurrent layer. Derive from it for an own one:
//
//   class Minimal : public RNNCell {
//    public:
//     explicit Minimal(int64_t units) : units_(units) {}
//     std::string kind() const override { return "Minimal"; }
//     std::vector<Shape> state_size() const override { return {{units_}}; }
//     void build(const std::vector<Shape>& inputs) override {
//       kernel_ = add_weight("kernel", {inputs[0][-1], units_});
//       recurrent_ = add_weight("recurrent_kernel", {units_, units_});
//     }
//     Values call(const Values& in, CallContext&) override {  // x, states → output, new states
//       Value h = ops::matmul(in[0], kernel_) + ops::matmul(in[1], recurrent_);
//       return {h, h};
//     }
//     ...
//   };
class RNNCell : public LayerBase {
 public:
  // One shape per state, without the batch.
  virtual std::vector<Shape> state_size() const = 0;
  // call(): x [B, features] and the states → the output and the new states, of the same specs.
};

struct SimpleRNNCellOptions {
  ActivationFunction activation = "tanh";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;            // of the inputs; one mask for all steps
  double recurrent_dropout = 0.0;  // of the state; one mask for all steps
  std::string name = "";
  std::string dtype = "";
};
// output = activation(x · kernel + h · recurrent_kernel + bias)
class SimpleRNNCell : public Layer {
 public:
  explicit SimpleRNNCell(int64_t units, const SimpleRNNCellOptions& options = {});
};

struct LSTMCellOptions {
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
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  std::string name = "";
  std::string dtype = "";
};
// Gates in the order i, f, c, o: kernel [features, 4 · units]. States: h, c.
class LSTMCell : public Layer {
 public:
  explicit LSTMCell(int64_t units, const LSTMCellOptions& options = {});
};

struct GRUCellOptions {
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  bool reset_after =
      true;  // the reset gate behind the product, as cuDNN has it; bias [2, 3 · units]
  std::string name = "";
  std::string dtype = "";
};
// Gates in the order z, r, h: kernel [features, 3 · units].
class GRUCell : public Layer {
 public:
  explicit GRUCell(int64_t units, const GRUCellOptions& options = {});
};

// Cells on top of each other as one cell; states: those of the first, then those of the second, …
class StackedRNNCells : public Layer {
 public:
  explicit StackedRNNCells(const std::vector<Layer>& cells, const LayerOptions& options = {});
};

// --- layers -------------------------------------------------------------------------------------

struct RNNOptions {
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;  // from the last step to the first; sequences come out in that order
  bool stateful = false;      // a batch begins with the states that the one before ended with
  bool unroll = false;        // accepted; the loop is one node of the graph either way
  bool zero_output_for_mask = false;  // masked steps give 0 instead of the output before
  std::string name = "";
  std::string dtype = "";
};
// A cell, or cells on top of each other, over a sequence [B, T, …].
class RNN : public Layer {
 public:
  explicit RNN(const Layer& cell, const RNNOptions& options = {});
  explicit RNN(const std::vector<Layer>& cells, const RNNOptions& options = {});
};

struct SimpleRNNOptions {
  ActivationFunction activation = "tanh";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of the output, divided by the batch size
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  std::string name = "";
  std::string dtype = "";
};
class SimpleRNN : public Layer {
 public:
  explicit SimpleRNN(int64_t units, const SimpleRNNOptions& options = {});
};

struct LSTMOptions {
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  bool unit_forget_bias = true;
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  std::string name = "";
  std::string dtype = "";
};
class LSTM : public Layer {
 public:
  explicit LSTM(int64_t units, const LSTMOptions& options = {});
};

struct GRUOptions {
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool reset_after = true;
  std::string name = "";
  std::string dtype = "";
};
class GRU : public Layer {
 public:
  explicit GRU(int64_t units, const GRUOptions& options = {});
};

// Zeroes the states of the stateful layers in a layer or model, in their order: the next batch
// begins new sequences. Error where there is none.
void reset_states(const Layer& layer);

// --- wrappers -----------------------------------------------------------------------------------

struct BidirectionalOptions {
  std::string merge_mode = "concat";  // concat, sum, mul, ave, or none: two outputs
  Layer backward_layer = {};          // empty: one like `layer`, with weights of its own
  std::string name = "";
  std::string dtype = "";
};
// A recurrent layer over a sequence from both ends. Both directions are new layers made like
// `layer`, named forward_… and backward_….
class Bidirectional : public Layer {
 public:
  explicit Bidirectional(const Layer& layer, const BidirectionalOptions& options = {});
};

// A layer on every step of [B, T, …].
class TimeDistributed : public Layer {
 public:
  explicit TimeDistributed(const Layer& layer, const LayerOptions& options = {});
};

}  // namespace stoker
