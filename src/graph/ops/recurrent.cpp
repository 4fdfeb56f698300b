// recurrent: a whole recurrent layer, and its gradient.
#include "graph/ops/recurrent.h"

#include <array>

#include <fmt/format.h>

#include "graph/autodiff.h"
#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

constexpr std::array<std::string_view, 4> kCells = {"lstm", "gru", "rnn_tanh", "rnn_relu"};

Cell cell_of(const Attrs& attrs) {
  const auto& name = attrs.get<std::string>("cell");
  for (size_t i = 0; i < kCells.size(); ++i)
    if (kCells[i] == name) return Cell(i);
  throw ValueError(
      fmt::format("expected a cell of lstm, gru, rnn_tanh, rnn_relu, got \"{}\"", name));
}

}  // namespace

RecurrentShape::RecurrentShape(const Attrs& attrs, std::span<const TensorSpec> inputs)
    : cell(cell_of(attrs)),
      reverse(attrs.get<bool>("reverse")),
      masked(attrs.get<bool>("masked")),
      zero_masked(attrs.get<bool>("zero_masked")) {
  expect_count(inputs, operands(), grad_operands());
  expect_rank(inputs[0], 3, "3-D input [B, T, features]");
  expect_rank(inputs[2], 2, "a recurrent kernel [units, gates · units]");
  batch = inputs[0].shape[0];
  length = inputs[0].shape[1];
  features = inputs[0].shape[2];
  units = inputs[2].shape[0];
  DType dtype = inputs[0].dtype;
  Shape bias = cell == Cell::gru ? Shape{2, columns()} : Shape{columns()};
  expect_spec(inputs[1], {dtype, {features, columns()}}, "kernel");
  expect_spec(inputs[2], {dtype, {units, columns()}}, "recurrent_kernel");
  expect_spec(inputs[3], {dtype, bias}, "bias");
  for (size_t i = 0; i < states(); ++i)
    expect_spec(inputs[4 + i], {dtype, {batch, units}}, i == 0 ? "state h" : "state c");
  if (masked) expect_spec(inputs[mask()], {DType::bool_, {batch, length}}, "mask");
}

namespace {

std::vector<TensorSpec> infer_recurrent(const Attrs& attrs, Specs inputs) {
  RecurrentShape shape(attrs, inputs);
  expect_count(inputs, shape.operands());
  DType dtype = inputs[0].dtype;
  std::vector<TensorSpec> outputs = {{dtype, {shape.batch, shape.length, shape.units}}};
  outputs.resize(1 + shape.states(), {dtype, {shape.batch, shape.units}});
  return outputs;
}

std::vector<TensorSpec> infer_recurrent_grad(const Attrs& attrs, Specs inputs) {
  RecurrentShape shape(attrs, inputs);
  expect_count(inputs, shape.grad_operands());
  TensorSpec y{inputs[0].dtype, {shape.batch, shape.length, shape.units}};
  expect_spec(inputs[shape.y()], y, "y");
  expect_spec(inputs[shape.dy()], y, "the gradient of y");
  for (size_t i = 0; i < shape.states(); ++i)
    expect_spec(inputs[shape.dstate(i)], inputs[4], "the gradient of a state");
  return {inputs.begin(), inputs.begin() + long(4 + shape.states())};
}

Values recurrent_gradient(const GradientCall& call) {
  std::vector<TensorSpec> specs;
  for (const Value& input : call.inputs) specs.push_back(input.spec());
  RecurrentShape shape(call.attrs, specs);
  Values operands = call.inputs;
  operands.push_back(call.outputs[0]);
  for (size_t i = 0; i <= shape.states(); ++i) {
    const Value& given = call.output_gradients[i];
    const TensorSpec& spec = call.outputs[i].spec();
    operands.push_back(
        given.defined()
            ? given
            : emit::broadcast_to(call.graph.number(Tensor::zeros({}, spec.dtype)), spec.shape));
  }
  Values gradients = apply("recurrent_grad", operands, call.attrs);
  gradients.resize(call.inputs.size());
  return gradients;
}

// Products of x and of h with a matrix each, and about 12 operations per gate.
double forward_flops(const RecurrentShape& shape) {
  double products = 2.0 * double(shape.features + shape.units) * double(shape.columns());
  return double(shape.steps()) * (products + 12.0 * double(shape.columns()));
}

CostRule recurrent_cost(double passes) {
  return [passes](const Attrs& attrs, Specs inputs, Specs outputs) {
    return cost_of(passes * forward_flops(RecurrentShape(attrs, inputs)), inputs, outputs);
  };
}

}  // namespace

void register_recurrent_ops(OpRegistry& registry) {
  registry.add({.name = "recurrent",
                .infer = infer_recurrent,
                .gradient = recurrent_gradient,
                .cost = recurrent_cost(1),
                .dtypes = floats(),
                .traits = {.operands = Operands::product}});
  registry.add({.name = "recurrent_grad",
                .infer = infer_recurrent_grad,
                .gradient = gradient_of(compose_recurrent_grad),
                .cost = recurrent_cost(2),
                .dtypes = floats(),
                .traits = {.operands = Operands::product}});
}

}  // namespace stoker
