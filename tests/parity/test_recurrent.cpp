// Recurrent layers, their options, masks and wrappers against Keras: keras_recurrent.py.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/layers.h>
#include <stoker/ops.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker::recurrence {  // its streams, not the other files' of this program
namespace {

using namespace test;

constexpr int64_t kBatch = 3, kLength = 5, kFeatures = 4, kUnits = 3;
enum Stream : uint64_t { kInput = 0, kState = 1, kCotangent = 10, kKernel = 20 };

struct RecurrentCase {
  std::string name;
  Layer layer;
  int states = 0;  // initial ones that it is called with
};

std::vector<RecurrentCase> recurrent_cases() {
  return {
      {"simple", SimpleRNN(kUnits)},
      {"simple_sequences", SimpleRNN(kUnits, {.return_sequences = true})},
      {"simple_relu", SimpleRNN(kUnits, {.activation = "relu", .return_state = true}), 1},
      {"simple_softsign", SimpleRNN(kUnits, {.activation = "softsign", .use_bias = false})},
      {"lstm", LSTM(kUnits)},
      {"lstm_all", LSTM(kUnits, {.return_sequences = true, .return_state = true}), 2},
      {"lstm_backwards", LSTM(kUnits, {.return_sequences = true, .go_backwards = true})},
      {"lstm_backwards_last", LSTM(kUnits, {.return_state = true, .go_backwards = true}), 2},
      {"lstm_no_bias", LSTM(kUnits, {.use_bias = false, .return_sequences = true})},
      {"lstm_elu",
       LSTM(kUnits,
            {.activation = "elu", .recurrent_activation = "softsign", .return_state = true}),
       2},
      {"gru", GRU(kUnits)},
      {"gru_all", GRU(kUnits, {.return_sequences = true, .return_state = true}), 1},
      {"gru_backwards", GRU(kUnits, {.return_sequences = true, .go_backwards = true})},
      {"gru_no_bias", GRU(kUnits, {.use_bias = false})},
      {"gru_reset_before", GRU(kUnits, {.return_sequences = true, .reset_after = false})},
      {"gru_softsign", GRU(kUnits, {.activation = "softsign", .recurrent_activation = "tanh"})},
      {"rnn_lstm", RNN(LSTMCell(kUnits), {.return_sequences = true})},
      {"rnn_zeros", RNN(GRUCell(kUnits), {.return_sequences = true, .zero_output_for_mask = true})},
      {"rnn_stacked", RNN(std::vector<Layer>{LSTMCell(kUnits), GRUCell(2), SimpleRNNCell(kUnits)},
                          {.return_sequences = true})},
      {"both_concat", Bidirectional(LSTM(kUnits))},
      {"both_sequences", Bidirectional(GRU(kUnits, {.return_sequences = true}))},
      {"both_sum", Bidirectional(LSTM(kUnits, {.return_sequences = true}), {.merge_mode = "sum"})},
      {"both_mul", Bidirectional(SimpleRNN(kUnits), {.merge_mode = "mul"})},
      {"both_ave", Bidirectional(GRU(kUnits, {.reset_after = false}), {.merge_mode = "ave"})},
      {"both_none",
       Bidirectional(LSTM(kUnits, {.return_sequences = true}), {.merge_mode = "none"})},
      {"both_own",
       Bidirectional(LSTM(kUnits), {.backward_layer = GRU(kUnits, {.go_backwards = true})})},
      {"distributed", TimeDistributed(Dense(2, {.activation = "tanh"}))},
  };
}

Tensor mask_of(const std::string& kind) {
  std::vector<uint8_t> gaps = {1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1};
  std::vector<uint8_t> padded = {1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  return Tensor::from(kind == "gaps" ? gaps : padded, {kBatch, kLength});
}

// Inputs: x, initial states, then the cotangents of the outputs. Results: outputs, gradients by x,
// states and weights.
std::vector<Tensor> run_case(const std::string& device, const RecurrentCase& one,
                             const std::string& kind, const Recording& recording) {
  std::vector<Variable> weights = one.layer.base().trainable_weights();
  std::vector<Tensor> inputs = {drawn(recording.seed(), kInput, {kBatch, kLength, kFeatures})};
  for (int i = 0; i < one.states; ++i)
    inputs.push_back(
        drawn(recording.seed(), kState + uint64_t(i), {kBatch, kUnits}, {.limit = 0.5}));
  return run_once(device, inputs, [&](const Values& traced) {
    CallOptions options;
    if (kind != "plain") options.mask = {Value(mask_of(kind))};
    Values outputs = one.layer.call_all(traced, options);
    Value loss;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Value term =
          ops::sum(outputs[i] * Value(drawn(recording.seed(), kCotangent + i, outputs[i].shape())));
      loss = loss.defined() ? loss + term : term;
    }
    Values wrt = traced;
    wrt.insert(wrt.end(), weights.begin(), weights.end());
    Values found = gradients(loss, wrt, {.unconnected = Unconnected::zeros});
    outputs.insert(outputs.end(), found.begin(), found.end());
    return outputs;
  });
}

using Recurrent = DeviceTest;

TEST_P(Recurrent, LayersGiveKerasOutputsStatesAndGradients) {
  Recording recording("recurrent");
  for (const RecurrentCase& one : recurrent_cases()) {
    Layer layer = one.layer;
    layer.call_all(std::vector<Value>{Value(Input({kLength, kFeatures}))});
    std::vector<Variable> weights = layer.base().trainable_weights();
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i].write(drawn(recording.seed(), kKernel + i, weights[i].shape(), {.limit = 0.75}));
    for (std::string kind : {"plain", "gaps", "padded"}) {
      SCOPED_TRACE(one.name + ", " + kind);
      std::vector<Tensor> results = run_case(device(), one, kind, recording);
      size_t outputs = recording.names(one.name + "/" + kind + "/output").size();
      ASSERT_EQ(results.size(),
                outputs + recording.names(one.name + "/" + kind + "/gradient").size());
      for (size_t i = 0; i < results.size(); ++i) {
        std::string what =
            i < outputs ? fmt::format("output{}", i) : fmt::format("gradient{}", i - outputs);
        EXPECT_TRUE(
            agrees(results[i], recording.expected(fmt::format("{}/{}/{}", one.name, kind, what))));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parity, Recurrent, kDevices, device_name);

}  // namespace
}  // namespace stoker::recurrence
