// gather, one_hot, in_top_k.
#include <fmt/format.h>

#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

// [a.., b..]
Shape join(const Shape& a, const Shape& b) {
  Ints dims(a.begin(), a.end());
  dims.insert(dims.end(), b.begin(), b.end());
  return to_shape(dims);
}

std::vector<TensorSpec> infer_gather(const Attrs&, Specs inputs) {
  expect_count(inputs, 2);
  expect_least_rank(inputs[0], 1, "a table [V, ..]");
  expect_dtype(inputs[1], integers(), "indices");
  if (inputs[0].shape[0] == 0) throw ShapeError("expected a table with rows, got an empty one");
  return {{inputs[0].dtype, join(inputs[1].shape, inputs[0].shape.drop_front())}};
}

Values gather_gradient(const GradientCall& call) {
  Values gradients(2);
  if (call.needed[0])
    gradients[0] = apply1("gather_grad", {call.inputs[1], call.output_gradients[0]},
                          {{"rows", call.inputs[0].shape()[0]}});
  return gradients;
}

Values gather_grad_gradient(const GradientCall& call) {
  return {Value(), apply1("gather", {call.output_gradients[0], call.inputs[0]})};
}

std::vector<TensorSpec> infer_gather_grad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  const Shape &indices = inputs[0].shape, &dy = inputs[1].shape;
  expect_dtype(inputs[1], floats(), "an output gradient");
  if (dy.rank() < indices.rank() || leading(dy, indices.rank()) != indices)
    throw ShapeError(fmt::format(
        "expected an output gradient that begins with the indices' dimensions {}, got {}",
        to_string(indices), to_string(dy)));
  return {{inputs[1].dtype, dy.drop_front(indices.rank()).prepend(attrs.get<int64_t>("rows"))}};
}

Cost gather_cost(const Attrs&, Specs inputs, Specs outputs) {
  // The rows that are read, not the whole table.
  return {.flops = 0, .bytes = 2 * bytes(outputs[0]) + bytes(inputs[1])};
}

Cost gather_grad_cost(const Attrs&, Specs inputs, Specs outputs) {
  return cost_of(elements(inputs[1]), inputs, outputs);
}

std::vector<TensorSpec> infer_one_hot(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  int64_t depth = attrs.get<int64_t>("depth");
  if (depth < 1) throw ShapeError(fmt::format("expected a depth of 1 or more, got {}", depth));
  TensorSpec output = {dtype_from_name(attrs.get<std::string>("dtype")),
                       join(inputs[0].shape, {depth})};
  expect_dtype(output, floats(), "a result");
  return {output};
}

std::vector<TensorSpec> infer_in_top_k(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  expect_rank(inputs[0], 2, "predictions [B, C]");
  expect_dtype(inputs[1], integers(), "targets");
  expect_shape(inputs[1], {inputs[0].shape[0]}, "targets");
  if (attrs.get<int64_t>("k") < 1)
    throw ShapeError(fmt::format("expected k of 1 or more, got {}", attrs.get<int64_t>("k")));
  return {{DType::bool_, inputs[1].shape}};
}

}  // namespace

void register_lookup_ops(OpRegistry& registry) {
  auto table_rows = [](Specs inputs) { return inputs[0].shape[0]; };
  std::vector<DType> tables = numbers();
  tables.push_back(DType::int8);
  registry.add({.name = "gather",
                .infer = infer_gather,
                .gradient = gather_gradient,
                .cost = gather_cost,
                .dtypes = tables,
                .indices = IndexRule{.operand = 1, .what = "embedding index", .limit = table_rows},
                .traits = {.moves = true}});
  registry.add({.name = "gather_grad",
                .infer = infer_gather_grad,
                .gradient = gather_grad_gradient,
                .cost = gather_grad_cost,
                .dtypes = integers()});
  registry.add(
      {.name = "one_hot", .infer = infer_one_hot, .cost = no_flops(), .dtypes = integers()});
  registry.add({.name = "in_top_k",
                .infer = infer_in_top_k,
                .cost = elementwise_cost(1),
                .dtypes = floats()});
}

}  // namespace stoker
