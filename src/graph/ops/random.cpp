// dropout.
#include <fmt/format.h>

#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

std::vector<TensorSpec> infer_dropout(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  expect_spec(inputs[1], {DType::int64, {2}}, "a random state {seed, step}");
  double rate = attrs.get<double>("rate");
  if (!(rate >= 0 && rate < 1))
    throw ShapeError(fmt::format("expected a rate in [0, 1), got {}", rate));
  attrs.get<int64_t>("stream");
  return {inputs[0]};
}

// The same elements survive on the way back: the same op with the same randomness on dy.
Values dropout_gradient(const GradientCall& call) {
  return {apply1("dropout", {call.output_gradients[0], call.inputs[1]}, call.attrs), Value()};
}

}  // namespace

void register_random_ops(OpRegistry& registry) {
  // Philox makes four numbers from ten rounds of about ten operations.
  registry.add({.name = "dropout",
                .infer = infer_dropout,
                .gradient = dropout_gradient,
                .cost = elementwise_cost(27),
                .dtypes = floats(),
                .in_place = shares({{0, 0}}),
                .traits = {.random = true}});
}

}  // namespace stoker
