// A cell over a sequence: what RNN, SimpleRNN, LSTM and GRU are. Cells of the library run as one
// fused op where its kernels compute what they do, else as a loop of the graph (ops::scan), with the
// product of the inputs in front of it; other cells as a loop.
#pragma once

#include "nn/layers/recurrent_cells.h"

namespace stoker {

struct SequenceOptions {
  bool return_sequences, return_state, go_backwards, stateful, zero_output_for_mask;
  Regularizer activity_regularizer;
};

class RecurrentLayer : public LayerBase {
 public:
  RecurrentLayer(std::shared_ptr<RNNCell> cell, const SequenceOptions& options,
                 const std::string& name);

  void build(const std::vector<Shape>& inputs) override;
  Values call(const Values& inputs, CallContext& context) override;
  bool supports_masking() const override { return true; }
  Values compute_mask(const Values& inputs, const Values& masks) const override;

  const SequenceOptions& sequence() const { return options_; }
  const RNNCell& cell() const { return *cell_; }
  // For Bidirectional: sequences come out in the order of time, and masked steps as zeros.
  void keep_time_order() { time_order_ = true; }
  void zero_masked_outputs(bool zero) { options_.zero_output_for_mask = zero; }
  void reset_states();
  const std::vector<Variable>& states() const { return states_; }  // of a stateful layer

 private:
  struct Run {
    Value x, mask;  // [B, T, …], [B, T] or undefined
    Values states;
    bool given_states;  // other than zeros
  };
  struct Result {
    Value outputs;  // [B, T, …], in the order of time
    Value last;     // of the last step that was done
    Values states;
  };
  void check_input(const Shape& x) const;
  Values initial_states(const Values& inputs, CallContext& context, bool& given) const;
  Result run_fused(const Run& run, const FusedCell& fused, CallContext& context) const;
  Result run_loop(const Run& run, CallContext& context);
  Value at_last_step(const Value& outputs) const;

  std::shared_ptr<RNNCell> cell_;
  SequenceOptions options_;
  bool time_order_ = false;
  std::vector<Variable> states_;  // of a stateful layer
};

// Of the weights of a layer or model, those that are no states of stateful layers: what get_weights()
// gives and set_weights() takes, as in Keras, so that they fit a model for batches of another size.
std::vector<Variable> weights_without_states(LayerBase& layer, std::vector<Variable> weights);

}  // namespace stoker
