// recurrent and recurrent_grad as compositions of other ops, a scan over the steps, in float32. Columns:
// [B, gates · units], in the order of RecurrentShape.
#include <stoker/ops.h>

#include "graph/autodiff.h"
#include "graph/emit.h"
#include "graph/ops/recurrent.h"

namespace stoker {

namespace {

std::vector<TensorSpec> operand_specs(const Values& values) {
  std::vector<TensorSpec> specs;
  for (const Value& value : values) specs.push_back(value.spec());
  return specs;
}

struct ComposedRecurrence {
  RecurrentShape shape;
  Value kernel, recurrent_kernel, bias;

  ComposedRecurrence(const Attrs& attrs, const Values& inputs)
      : shape(attrs, operand_specs(inputs)) {
    kernel = emit::cast(inputs[1], DType::float32);
    recurrent_kernel = emit::cast(inputs[2], DType::float32);
    bias = emit::cast(inputs[3], DType::float32);
  }

  Value bias_row(int64_t row) const {
    return shape.cell == Cell::gru
               ? emit::reshape(emit::slice(bias, {row, 0}, {1, shape.columns()}), {shape.columns()})
               : bias;
  }
  Value gate(const Value& columns, int64_t which) const {
    return emit::slice(columns, {0, which * shape.units}, {shape.batch, shape.units});
  }

  // What becomes of the states in a step that counts; `input`: x · kernel + bias.
  Values next(const Value& input, const Values& states) const {
    Value recurrent = emit::matmul(states[0], recurrent_kernel, false, false);
    switch (shape.cell) {
      case Cell::lstm:
        return lstm(input + recurrent, states[1]);
      case Cell::gru:
        return {gru(input, recurrent + bias_row(1), states[0])};
      case Cell::rnn_tanh:
        return {ops::tanh(input + recurrent)};
      case Cell::rnn_relu:
        break;
    }
    return {ops::relu(input + recurrent)};
  }
  Values lstm(const Value& columns, const Value& c) const {
    Value cell = ops::sigmoid(gate(columns, 1)) * c +
                 ops::sigmoid(gate(columns, 0)) * ops::tanh(gate(columns, 2));
    return {ops::sigmoid(gate(columns, 3)) * ops::tanh(cell), cell};
  }
  Value gru(const Value& input, const Value& recurrent, const Value& h) const {
    Value update = ops::sigmoid(gate(input, 0) + gate(recurrent, 0));
    Value reset = ops::sigmoid(gate(input, 1) + gate(recurrent, 1));
    Value candidate = ops::tanh(gate(input, 2) + reset * gate(recurrent, 2));
    return update * h + (1.0 - update) * candidate;
  }
};

}  // namespace

Values compose_recurrent(const Attrs& attrs, const Values& inputs) {
  ComposedRecurrence c(attrs, inputs);
  const RecurrentShape& s = c.shape;
  Value x = emit::reshape(emit::cast(inputs[0], DType::float32), {s.steps(), s.features});
  Value columns = emit::matmul(x, c.kernel, false, false) + c.bias_row(0);
  Values sequences = {
      emit::transpose(emit::reshape(columns, {s.batch, s.length, s.columns()}), {1, 0, 2})};
  if (s.masked)
    sequences.push_back(
        emit::reshape(emit::transpose(inputs[s.mask()], {1, 0}), {s.length, s.batch, 1}));
  // The states, and the output before, which a masked step repeats.
  Values carry;
  for (size_t i = 0; i < s.states(); ++i)
    carry.push_back(emit::cast(inputs[4 + i], DType::float32));
  carry.push_back(ops::zeros_like(carry[0]));
  auto step = [&](const Values& before, const Values& slices) {
    Values states(before.begin(), before.end() - 1);
    Values after = c.next(slices[0], states);
    Value y = after[0];
    if (s.masked) {
      for (size_t i = 0; i < after.size(); ++i)
        after[i] = emit::select(slices[1], after[i], states[i]);
      y = emit::select(slices[1], y, s.zero_masked ? ops::zeros_like(y) : before.back());
    }
    after.push_back(y);
    return ops::ScanStep{after, {y}};
  };
  ops::ScanResult result = ops::scan(step, carry, sequences, {.reverse = s.reverse});
  Values outputs = {emit::transpose(result.outputs[0], {1, 0, 2})};
  outputs.insert(outputs.end(), result.carry.begin(), result.carry.end() - 1);
  for (Value& output : outputs) output = emit::cast(output, inputs[0].dtype());
  return outputs;
}

// Everything is computed again from the layer's operands: y, which is a function of them, is not read.
Values compose_recurrent_grad(const Attrs& attrs, const Values& inputs) {
  RecurrentShape shape(attrs, operand_specs(inputs));
  Values operands(inputs.begin(), inputs.begin() + long(shape.operands()));
  // One value may be both states, as zeros are; each has a gradient of its own.
  if (shape.states() == 2 && same(operands[4], operands[5])) operands[5] = operands[5] + 0.0;
  std::vector<bool> needed(operands.size(), true);
  if (shape.masked) needed[shape.mask()] = false;
  Values slopes(inputs.begin() + long(shape.dy()), inputs.end());
  Values found = pull_back(
      *inputs[0].traced()->graph, operands, needed,
      [&](const Values& given) { return compose_recurrent(attrs, given); }, slopes);
  found.resize(4 + shape.states());
  return found;
}

}  // namespace stoker
