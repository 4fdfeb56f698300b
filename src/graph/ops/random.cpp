// dropout, random.
#include "graph/ops/random.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/ops/shape_rules.h"
#include "graph/text.h"

namespace stoker {

using namespace rules;

const RandomFunction& random_function(const Attrs& attrs) {
  const auto& fn = attrs.get<std::string>("fn");
  auto found = std::ranges::find(kRandomFunctions, fn, &RandomFunction::name);
  if (found != kRandomFunctions.end()) return *found;
  std::string names =
      list_text(kRandomFunctions, [](const RandomFunction& each) { return each.name; });
  throw ValueError(fmt::format("unknown distribution \"{}\"; there are {}", fn, names));
}

draws::Draw random_draw(const Attrs& attrs) {
  draws::Draw draw{.fn = random_function(attrs).fn,
                   .low = attrs.get_or("low", 0.0),
                   .high = attrs.get_or("high", 1.0)};
  draw.first = attrs.get_or("first", int64_t(0));
  draw.range = uint64_t(attrs.get_or("range", int64_t(1)));
  return draw;
}

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

// state {seed, step} [, parameters of the result's shape]
std::vector<TensorSpec> infer_random(const Attrs& attrs, Specs inputs) {
  const RandomFunction& function = random_function(attrs);
  expect_count(inputs, 1 + function.parameters);
  expect_spec(inputs[0], {DType::int64, {2}}, "a random state {seed, step}");
  attrs.get<int64_t>("stream");
  Shape shape = to_shape(attrs.get<Ints>("shape"));
  for (const TensorSpec& parameter : inputs.subspan(1))
    expect_spec(parameter, {DType::float32, shape}, "a parameter");
  if (function.fn != draws::Fn::integer) return {{DType::float32, shape}};
  if (attrs.get<int64_t>("range") < 1)
    throw ShapeError(
        fmt::format("expected a range of 1 or more integers, got {}", attrs.get<int64_t>("range")));
  return {{DType::int64, shape}};
}

Values random_gradient(const GradientCall& call) { return Values(call.inputs.size()); }

}  // namespace

void register_random_ops(OpRegistry& registry) {
  registry.add({.name = "random",
                .infer = infer_random,
                .gradient = random_gradient,
                .cost = elementwise_cost(60),
                .dtypes = {DType::int64},
                .traits = {.stops_gradient = true, .random = true}});
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
