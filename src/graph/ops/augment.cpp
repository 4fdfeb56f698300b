// augment, augment_mix.
#include "graph/ops/augment.h"

#include <fmt/format.h>

#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

AugmentCall::AugmentCall(const Attrs& attrs, const Shape& x)
    : stages(augment::stages_of(attrs.get<Doubles>("stages"))),
      batch(x[0]),
      channels(x[3]),
      from{int32_t(x[1]), int32_t(x[2])},
      stream(uint64_t(attrs.get<int64_t>("stream"))) {
  const Ints& size = attrs.get<Ints>("size");
  to = {int32_t(size[0]), int32_t(size[1])};
}

MixCall::MixCall(const Attrs& attrs, const Shape& x)
    : batch(x[0]),
      elements(x[0] == 0 ? 0 : x.elements() / x[0]),
      channels(attrs.get<bool>("labels") ? 0 : x[-1]),
      stream(uint64_t(attrs.get<int64_t>("stream"))) {
  const Ints& size = attrs.get<Ints>("size");
  const Doubles& alpha = attrs.get<Doubles>("alpha");
  mix = {.cut = attrs.get<bool>("cut") ? 1 : 0,
         .alpha_low = float(alpha[0]),
         .alpha_high = float(alpha[1]),
         .picture = {int32_t(size[0]), int32_t(size[1])}};
}

namespace {

constexpr int64_t kLongestSide = 1 << 24;  // float positions are exact up to here

void expect_state(const TensorSpec& state) {
  expect_spec(state, {DType::int64, {2}}, "a random state {seed, step}");
}

Shape expect_size(const Attrs& attrs) {
  const Ints& size = attrs.get<Ints>("size");
  expect_length(size, 2, "size");
  if (size[0] < 1 || size[1] < 1 || size[0] > kLongestSide || size[1] > kLongestSide)
    throw ShapeError(
        fmt::format("expected a size of 1 to {}, got [{}, {}]", kLongestSide, size[0], size[1]));
  return {size[0], size[1]};
}

std::vector<TensorSpec> infer_augment(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  expect_rank(inputs[0], 4, "pictures [B, H, W, C]");
  expect_state(inputs[1]);
  const Shape& x = inputs[0].shape;
  Shape size = expect_size(attrs);
  std::vector<augment::Stage> stages;
  try {
    stages = augment::stages_of(attrs.get<Doubles>("stages"));
  } catch (const ValueError& error) {
    throw ShapeError(error.what());
  }
  attrs.get<int64_t>("stream");
  bool crops = false;
  for (const augment::Stage& stage : stages) {
    crops |= stage.kind == augment::Kind::crop;
    if (augment::needs_colours(stage.kind) && x[3] != 3)
      throw ShapeError(fmt::format("expected three channels, RGB, got {}", to_string(x)));
  }
  bool same = size[0] == x[1] && size[1] == x[2], fits = size[0] <= x[1] && size[1] <= x[2];
  if (crops ? !(fits && stages.size() == 1) : !same)
    throw ShapeError(fmt::format("expected {}, got {} of {}",
                                 crops ? "a crop inside of the picture" : "the picture's own size",
                                 to_string(size), to_string(x)));
  return {{inputs[0].dtype, {x[0], size[0], size[1], x[3]}}};
}

std::vector<TensorSpec> infer_augment_mix(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  expect_least_rank(inputs[0], 2, "samples");
  expect_state(inputs[1]);
  Shape size = expect_size(attrs);
  const Shape& x = inputs[0].shape;
  const Doubles& alpha = attrs.get<Doubles>("alpha");
  if (alpha.size() != 2 || !(alpha[0] >= 0 && alpha[0] <= alpha[1] && alpha[1] > 0))
    throw ShapeError("expected a smallest and a largest alpha, both above 0");
  attrs.get<bool>("cut");
  attrs.get<int64_t>("stream");
  if (!attrs.get<bool>("labels") && (x.rank() != 4 || x[1] != size[0] || x[2] != size[1]))
    throw ShapeError(
        fmt::format("expected pictures [B, {}, {}, C], got {}", size[0], size[1], to_string(x)));
  return {inputs[0]};
}

// Augmentation comes before what learns.
Values no_gradient(const GradientCall& call) { return Values(call.inputs.size()); }

}  // namespace

void register_augment_ops(OpRegistry& registry) {
  constexpr double kPerElement = 30;  // a position and four taps with their weights
  registry.add({.name = "augment",
                .infer = infer_augment,
                .gradient = no_gradient,
                .cost = elementwise_cost(kPerElement),
                .dtypes = {DType::float32},
                .traits = {.stops_gradient = true, .random = true}});
  registry.add({.name = "augment_mix",
                .infer = infer_augment_mix,
                .gradient = no_gradient,
                .cost = elementwise_cost(3),
                .dtypes = {DType::float32},
                .traits = {.stops_gradient = true, .random = true}});
}

}  // namespace stoker
