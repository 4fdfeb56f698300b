// recurrent → LSTM, GRU or RNN. ONNX's sequences are [T, B, F], its weights [directions, gates ·
// units, extent] with the gates of an LSTM in the order i, o, f, c.
#include <algorithm>

#include "graph/ops/recurrent.h"
#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

const Form kSteps = {1, 0, 2};

// Rows [gates · units, …] in ONNX's order of gates, with one direction in front.
std::string gates_of(OnnxBuilder& builder, const RecurrentShape& s, std::string rows) {
  if (s.cell == Cell::lstm) {
    Ints order;
    for (int64_t gate : {0, 3, 1, 2})
      for (int64_t unit = 0; unit < s.units; ++unit) order.push_back(gate * s.units + unit);
    rows = builder.add("Gather", {rows, builder.integers(order)}, {{"axis", int64_t(0)}});
  }
  return builder.add("Unsqueeze", {rows, builder.integers({0})});
}

// Both biases in one row; without a second one it is zero.
std::string biases_of(OnnxBuilder& builder, const RecurrentShape& s, int bias) {
  std::string input = builder.get(bias), recurrent;
  if (s.cell == Cell::gru) {
    input = builder.add("Reshape", {input, builder.integers({1, 2 * s.columns()})});
    return input;
  }
  recurrent = builder.constant(Tensor::zeros({1, s.columns()}));
  return builder.add("Concat", {gates_of(builder, s, input), recurrent}, {{"axis", int64_t(1)}});
}

bool is_zero(const Tensor& tensor) {
  return std::ranges::all_of(tensor.values<float>(), [](float number) { return number == 0; });
}

// "" for zeros, which ONNX takes for a state that is left out.
std::string state_of(OnnxBuilder& builder, const Node& node, int state) {
  if (const Tensor* known = builder.known_tensor(state)) {
    if (is_zero(*known)) return "";
    if (builder.varies(state, 0))
      builder.refuse(
          node, "its initial state is a constant for one batch size; export with a fixed batch");
  }
  return builder.add("Unsqueeze", {builder.get(state), builder.integers({0})});
}

void export_recurrent(OnnxBuilder& builder, const Node& node) {
  std::vector<TensorSpec> specs;
  for (int value : node.inputs) specs.push_back(builder.spec(value));
  RecurrentShape s(node.attrs, specs);
  if (s.masked)
    builder.refuse(node,
                   "ONNX's recurrent layers take lengths, not masks; export the model without "
                   "mask_zero or Masking, on sequences that are not padded");
  bool lstm = s.cell == Cell::lstm, gru = s.cell == Cell::gru;
  std::vector<std::string> inputs = {builder.get(node.inputs[0], kSteps),
                                     gates_of(builder, s, builder.get(node.inputs[1], {1, 0})),
                                     gates_of(builder, s, builder.get(node.inputs[2], {1, 0})),
                                     biases_of(builder, s, node.inputs[3]),
                                     "",
                                     state_of(builder, node, node.inputs[4])};
  if (lstm) inputs.push_back(state_of(builder, node, node.inputs[5]));
  while (inputs.back().empty()) inputs.pop_back();
  std::vector<std::pair<std::string, OnnxAttribute>> attributes = {
      {"hidden_size", s.units}, {"direction", std::string(s.reverse ? "reverse" : "forward")}};
  if (gru) attributes.emplace_back("linear_before_reset", int64_t(1));
  if (s.cell == Cell::rnn_relu)
    attributes.emplace_back("activations", std::vector<std::string>{"Relu"});
  std::vector<std::string> made = builder.add_all(lstm  ? "LSTM"
                                                  : gru ? "GRU"
                                                        : "RNN",
                                                  inputs, node.outputs.size(), attributes);
  builder.set(node.outputs[0], builder.add("Squeeze", {made[0], builder.integers({1})}), kSteps);
  for (size_t i = 1; i < made.size(); ++i)
    builder.set(node.outputs[i], builder.add("Squeeze", {made[i], builder.integers({0})}));
}

}  // namespace

void add_recurrent_exporters(OnnxExporters& exporters) {
  exporters["recurrent"] = export_recurrent;
}

}  // namespace stoker
