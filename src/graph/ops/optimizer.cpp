// sgd_update, adam_update, rmsprop_update, clip_scales, loss_scale_update.
#include <fmt/format.h>

#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

// How an update's operands lie: a few shared ones, then p, g and some moments a parameter.
struct Layout {
  bool iterations = false;
  size_t moments = 0;
};

size_t shared_operands(const Layout& layout, const Attrs& attrs) {
  return 1 + size_t(layout.iterations) + size_t(attrs.get_or("scaled", false));
}

Layout sgd_layout(const Attrs& attrs) {
  return {.moments = attrs.get_or("momentum", 0.0) > 0 ? 1U : 0U};
}

Layout adam_layout(const Attrs& attrs) {
  return {.iterations = true, .moments = attrs.get_or("amsgrad", false) ? 3U : 2U};
}

Layout rmsprop_layout(const Attrs& attrs) {
  return {.moments = 1 + size_t(attrs.get_or("centered", false)) +
                     size_t(attrs.get_or("momentum", 0.0) > 0)};
}

using LayoutOf = Layout (*)(const Attrs&);

void expect_shared(const Layout& layout, const Attrs& attrs, Specs inputs, int64_t parameters) {
  if (attrs.get_or("momentum_given", false))
    expect_spec(inputs[0], {DType::float32, {2}}, "a learning rate and a momentum");
  else
    expect_spec(inputs[0], {DType::float32, {}}, "a learning rate");
  if (layout.iterations) expect_spec(inputs[1], {DType::int64, {}}, "a number of iterations");
  if (attrs.get_or("scaled", false))
    expect_spec(inputs[1 + size_t(layout.iterations)], {DType::float32, {parameters}}, "scales");
}

// p and its moments are float32 of one shape; g has the shape and may be narrower.
void expect_parameter(Specs group) {
  expect_dtype(group[0], DType::float32, "a parameter");
  expect_dtype(group[1], floats(), "a gradient");
  expect_shape(group[1], group[0].shape, "a gradient");
  for (const TensorSpec& moment : group.subspan(2)) expect_spec(moment, group[0], "a moment");
}

Infer infer_update(LayoutOf layout_of) {
  return [layout_of](const Attrs& attrs, Specs inputs) {
    Layout layout = layout_of(attrs);
    size_t shared = shared_operands(layout, attrs), group = 2 + layout.moments;
    if (inputs.size() <= shared || (inputs.size() - shared) % group != 0)
      throw ShapeError(fmt::format("expected {} operands and then {} a parameter, got {}", shared,
                                   group, inputs.size()));
    expect_shared(layout, attrs, inputs, int64_t((inputs.size() - shared) / group));
    std::vector<TensorSpec> outputs;
    for (size_t i = shared; i < inputs.size(); i += group) {
      expect_parameter(inputs.subspan(i, group));
      outputs.insert(outputs.end(), 1 + layout.moments, inputs[i]);
    }
    return outputs;
  };
}

// Every output overwrites the operand it updates; gradients are only read.
InPlace update_in_place(LayoutOf layout_of) {
  return [layout_of](const Attrs& attrs, size_t inputs) {
    Layout layout = layout_of(attrs);
    std::vector<std::pair<int, int>> pairs;
    for (size_t i = shared_operands(layout, attrs); i < inputs; i += 2 + layout.moments) {
      pairs.emplace_back(int(pairs.size()), int(i));
      for (size_t moment = 0; moment < layout.moments; ++moment)
        pairs.emplace_back(int(pairs.size()), int(i + 2 + moment));
    }
    return pairs;
  };
}

CostRule update_cost(LayoutOf layout_of, double per_element) {
  return [layout_of, per_element](const Attrs& attrs, Specs inputs, Specs outputs) {
    Layout layout = layout_of(attrs);
    double parameters = 0;
    for (size_t i = 0; i < outputs.size(); i += 1 + layout.moments)
      parameters += elements(outputs[i]);
    return cost_of(parameters * per_element, inputs, outputs);
  };
}

std::vector<TensorSpec> infer_clip_scales(const Attrs& attrs, Specs inputs) {
  bool scaled = attrs.get_or("scaled", false);
  expect_count(inputs, 1 + size_t(scaled), SIZE_MAX);
  const auto& mode = attrs.get<std::string>("mode");
  if (mode != "each" && mode != "global")
    throw ValueError(fmt::format("clip mode is \"each\" or \"global\", got \"{}\"", mode));
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

void add_update(OpRegistry& registry, std::string name, LayoutOf layout_of, double flops) {
  registry.add({.name = std::move(name),
                .infer = infer_update(layout_of),
                .cost = update_cost(layout_of, flops),
                .dtypes = {DType::float32},
                .in_place = update_in_place(layout_of),
                .traits = {.updates_variables = true, .reads_gradients = true}});
}

}  // namespace

void register_optimizer_ops(OpRegistry& registry) {
  add_update(registry, "sgd_update", sgd_layout, 4);
  add_update(registry, "adam_update", adam_layout, 14);
  add_update(registry, "rmsprop_update", rmsprop_layout, 10);
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
