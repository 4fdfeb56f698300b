// matmul.
#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

// y [.., M, N] = a [.., M, K] · b [K, N] or [.., K, N], after the transpositions.
struct Sizes {
  int64_t m, k, k_of_b, n;
};

Sizes sizes(const Attrs& attrs, const Shape& a, const Shape& b) {
  bool transpose_a = attrs.get_or("transpose_a", false),
       transpose_b = attrs.get_or("transpose_b", false);
  return {.m = a[transpose_a ? -1 : -2],
          .k = a[transpose_a ? -2 : -1],
          .k_of_b = b[transpose_b ? -1 : -2],
          .n = b[transpose_b ? -2 : -1]};
}

std::vector<TensorSpec> infer_matmul(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2, 3);
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  expect_least_rank(inputs[0], 2, "a first operand");
  expect_least_rank(inputs[1], 2, "a second operand");
  expect_dtype(inputs[1], inputs[0].dtype, "a second operand");
  Sizes size = sizes(attrs, a, b);
  if (size.k != size.k_of_b)
    throw ShapeError(
        fmt::format("expected inner dimensions that agree, got {} and {} from {} and {}", size.k,
                    size.k_of_b, to_string(a), to_string(b)));
  if (b.rank() != 2 && leading(a, a.rank() - 2) != leading(b, b.rank() - 2))
    throw ShapeError(fmt::format(
        "expected a two-dimensional second operand or equal leading dimensions, got {} and {}",
        to_string(a), to_string(b)));
  if (inputs.size() == 3) expect_spec(inputs[2], {inputs[0].dtype, {size.n}}, "a bias");
  return {{inputs[0].dtype, a.with(-2, size.m).with(-1, size.n)}};
}

Value swap_last_axes(const Value& x) {
  Ints perm;
  for (int axis = 0; axis < x.shape().rank(); ++axis) perm.push_back(axis);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return emit::transpose(x, perm);
}

// [.., M, N] → [.. · M, N]
Value as_matrix(const Value& x) {
  int64_t columns = x.shape()[-1];
  return emit::reshape(x, {columns == 0 ? 0 : x.shape().elements() / columns, columns});
}

Value gradient_of_a(const Value& a, const Value& b, const Value& dy, bool transpose_a,
                    bool transpose_b) {
  if (!transpose_a) return emit::matmul(dy, b, false, !transpose_b);
  if (b.shape().rank() == a.shape().rank()) return emit::matmul(b, dy, transpose_b, true);
  return swap_last_axes(emit::matmul(dy, b, false, !transpose_b));
}

Value gradient_of_b(Value a, const Value& b, Value dy, bool transpose_a, bool transpose_b) {
  if (b.shape().rank() < a.shape().rank()) {
    a = as_matrix(transpose_a ? swap_last_axes(a) : a);
    dy = as_matrix(dy);
    transpose_a = false;
  }
  return transpose_b ? emit::matmul(dy, a, true, transpose_a)
                     : emit::matmul(a, dy, !transpose_a, false);
}

Values matmul_gradient(const GradientCall& call) {
  if (call.inputs.size() > 2 || !call.attrs.get_or<std::string>("activation", "").empty())
    throw Error("a fused matmul has no gradient; take gradients before fusing");
  bool transpose_a = call.attrs.get_or("transpose_a", false),
       transpose_b = call.attrs.get_or("transpose_b", false);
  const Value &a = call.inputs[0], &b = call.inputs[1], &dy = call.output_gradients[0];
  Values gradients(2);
  if (call.needed[0]) gradients[0] = gradient_of_a(a, b, dy, transpose_a, transpose_b);
  if (call.needed[1]) gradients[1] = gradient_of_b(a, b, dy, transpose_a, transpose_b);
  return gradients;
}

Cost matmul_cost(const Attrs& attrs, Specs inputs, Specs outputs) {
  Sizes size = sizes(attrs, inputs[0].shape, inputs[1].shape);
  double bias = inputs.size() == 3 ? elements(outputs[0]) : 0;
  return cost_of(2 * double(size.k) * elements(outputs[0]) + bias, inputs, outputs);
}

}  // namespace

void register_matmul_ops(OpRegistry& registry) {
  registry.add(
      {.name = "matmul",
       .infer = infer_matmul,
       .gradient = matmul_gradient,
       .cost = matmul_cost,
       .dtypes = floats(),
       .traits = {.operands = Operands::product, .epilogue = Epilogue::bias_and_activation}});
}

}  // namespace stoker
