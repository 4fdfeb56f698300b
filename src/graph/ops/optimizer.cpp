// sgd_update, adam_update, rmsprop_update, clip_scales, loss_scale_update.
#include <fmt/format.h>

#include "graph/ops/shape_rules.h"
#include "graph/update_layout.h"

namespace stoker {

using namespace rules;

namespace {

void expect_shared(const UpdateLayout& layout, const Attrs& attrs, Specs inputs) {
  if (attrs.get_or("momentum_given", false))
    expect_spec(inputs[0], {DType::float32, {2}}, "a learning rate and a momentum");
  else
    expect_spec(inputs[0], {DType::float32, {}}, "a learning rate");
  if (layout.iterations) expect_spec(inputs[1], {DType::int64, {}}, "a number of iterations");
  if (layout.scaled)
    expect_spec(inputs[layout.first() - 1], {DType::float32, {int64_t(layout.count)}}, "scales");
}

// p and its moments are float32 of one shape; g has the shape and may be narrower.
void expect_parameter(Specs group) {
  expect_dtype(group[0], DType::float32, "a parameter");
  expect_dtype(group[1], floats(), "a gradient");
  expect_shape(group[1], group[0].shape, "a gradient");
  for (const TensorSpec& moment : group.subspan(2)) expect_spec(moment, group[0], "a moment");
}

Infer infer_update(const std::string& op) {
  return [op](const Attrs& attrs, Specs inputs) {
    UpdateLayout layout = update_layout(op, attrs, inputs.size());
    if (layout.count == 0 || inputs.size() != layout.parameter(layout.count))
      throw ShapeError(fmt::format("expected {} operands and then {} a parameter, got {}",
                                   layout.first(), layout.inputs(), inputs.size()));
    expect_shared(layout, attrs, inputs);
    std::vector<TensorSpec> outputs;
    for (size_t i = 0; i < layout.count; ++i) {
      expect_parameter(inputs.subspan(layout.parameter(i), layout.inputs()));
      outputs.insert(outputs.end(), layout.outputs(), inputs[layout.parameter(i)]);
    }
    return outputs;
  };
}

// Every output overwrites the operand it updates; gradients are only read.
InPlace update_in_place(const std::string& op) {
  return [op](const Attrs& attrs, size_t inputs) {
    UpdateLayout layout = update_layout(op, attrs, inputs);
    std::vector<std::pair<int, int>> pairs;
    for (size_t i = 0; i < layout.count; ++i) {
      pairs.emplace_back(int(pairs.size()), int(layout.parameter(i)));
      for (size_t moment = 0; moment < layout.moments; ++moment)
        pairs.emplace_back(int(pairs.size()), int(layout.gradient(i) + 1 + moment));
    }
    return pairs;
  };
}

CostRule update_cost(const std::string& op, double per_element) {
  return [op, per_element](const Attrs& attrs, Specs inputs, Specs outputs) {
    UpdateLayout layout = update_layout(op, attrs, inputs.size());
    double parameters = 0;
    for (size_t i = 0; i < layout.count; ++i) parameters += elements(inputs[layout.parameter(i)]);
    return cost_of(parameters * per_element, inputs, outputs);
  };
}

std::vector<TensorSpec> infer_clip_scales(const Attrs& attrs, Specs inputs) {
  bool scaled = attrs.get_or("scaled", false);
  expect_count(inputs, 1 + size_t(scaled), SIZE_MAX);
  const auto& mode = attrs.get<std::string>("mode");
  if (mode != "each" && mode != "global")
    throw ValueError(fmt::format("clip mode must be \"each\" or \"global\", got \"{}\"", mode));
  if (!(attrs.get<double>("max_norm") > 0)) throw ShapeError("expected a positive max_norm");
  if (scaled) {
    expect_spec(inputs.back(), {DType::float32, {}}, "a loss scale");
    inputs = inputs.first(inputs.size() - 1);
  }
  for (const TensorSpec& gradient : inputs) expect_dtype(gradient, floats(), "gradients");
  return {{DType::float32, {int64_t(inputs.size())}}, {DType::float32, {}}};
}

Cost clip_scales_cost(const Attrs&, Specs inputs, Specs outputs) {
  double flops = 0;
  for (const TensorSpec& gradient : inputs) flops += 2 * elements(gradient);
  return cost_of(flops, inputs, outputs);
}

std::vector<TensorSpec> infer_loss_scale_update(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 4, 4);
  TensorSpec number{DType::float32, {}}, count{DType::int64, {}};
  expect_spec(inputs[0], number, "a norm");
  expect_spec(inputs[1], number, "a loss scale");
  expect_spec(inputs[2], count, "a number of good steps");
  expect_spec(inputs[3], count, "a number of skipped steps");
  if (attrs.get<int64_t>("growth_steps") < 1) throw ShapeError("expected growth_steps above 0");
  if (!(attrs.get<double>("min_scale") > 0)) throw ShapeError("expected a positive min_scale");
  return {number, count, count, number};
}

void add_update(OpRegistry& registry, const std::string& name, double flops) {
  registry.add({.name = name,
                .infer = infer_update(name),
                .cost = update_cost(name, flops),
                .dtypes = {DType::float32},
                .in_place = update_in_place(name),
                .traits = {.updates_variables = true, .reads_gradients = true}});
}

}  // namespace

void register_optimizer_ops(OpRegistry& registry) {
  add_update(registry, "sgd_update", 4);
  add_update(registry, "adam_update", 14);
  add_update(registry, "rmsprop_update", 10);
  registry.add({.name = "clip_scales",
                .infer = infer_clip_scales,
                .cost = clip_scales_cost,
                .dtypes = floats(),
                .traits = {.reads_gradients = true}});
  registry.add({.name = "loss_scale_update",
                .infer = infer_loss_scale_update,
                .cost = [](const Attrs&, Specs inputs,
                           Specs outputs) { return cost_of(4, inputs, outputs); },
                .dtypes = {DType::float32}});
}

}  // namespace stoker
