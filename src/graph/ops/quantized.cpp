// quantize, dequantize, and the ops on numbers in eight bits.
#include "graph/ops/quantized.h"

#include <cmath>

#include <fmt/format.h>

#include "graph/ops/shape_rules.h"
#include "graph/ops/window.h"

namespace stoker {

namespace quantized {

using namespace rules;

namespace {

constexpr int64_t kCodes = 256;

void expect_scale(const Attrs& attrs, std::string_view name) {
  auto scale = attrs.get<double>(name);
  if (!(scale > 0) || !std::isfinite(scale) || !(float(scale) > 0) || !std::isfinite(float(scale)))
    throw ValueError(fmt::format("expected a {} that is a positive float32, got {}", name, scale));
}

void expect_code(const Attrs& attrs, std::string_view name) {
  auto code = attrs.get<int64_t>(name);
  if (code < kLowest || code > kHighest)
    throw ValueError(fmt::format("expected a {} of 0 to 255, got {}", name, code));
}

void expect_params(const Attrs& attrs, std::string_view scale, std::string_view zero_point) {
  expect_scale(attrs, scale);
  expect_code(attrs, zero_point);
}

// The dtype of a result, and where it is stored.
DType target(const Attrs& attrs) {
  auto dtype = attrs.get_or<std::string>("dtype", "uint8");
  if (dtype == "float32") return DType::float32;
  if (dtype != "uint8")
    throw ValueError(fmt::format("expected a dtype of uint8 or float32, got {}", dtype));
  expect_params(attrs, "y_scale", "y_zero_point");
  auto low = attrs.get_or<int64_t>("low", kLowest), high = attrs.get_or<int64_t>("high", kHighest);
  if (low < kLowest || high > kHighest || low > high)
    throw ValueError(fmt::format("expected 0 ≤ low ≤ high ≤ 255, got {} and {}", low, high));
  return DType::uint8;
}

std::vector<TensorSpec> infer_quantize(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  expect_params(attrs, "scale", "zero_point");
  return {{DType::uint8, inputs[0].shape}};
}

std::vector<TensorSpec> infer_dequantize(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  expect_params(attrs, "scale", "zero_point");
  return {{DType::float32, inputs[0].shape}};
}

// Kernel, scales and bias of a product with `filters` results of `products` products each.
void expect_weights(const Attrs& attrs, Specs inputs, int64_t filters, int64_t products) {
  expect_dtype(inputs[1], DType::int8, "a kernel");
  expect_spec(inputs[2], {DType::float32, {filters}}, "scales");
  expect_spec(inputs[3], {DType::int32, {filters}}, "a bias");
  expect_params(attrs, "x_scale", "x_zero_point");
  auto bits = attrs.get_or<int64_t>("weight_bits", 8);
  if (bits != 7 && bits != 8)
    throw ValueError(fmt::format("expected weight_bits of 7 or 8, got {}", bits));
  if (products > kMostProducts)
    throw ShapeError(
        fmt::format("expected sums of at most {} products, which an int32 holds, got {}",
                    kMostProducts, products));
}

std::vector<TensorSpec> infer_matmul(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 4);
  expect_least_rank(inputs[0], 2, "a first operand");
  expect_rank(inputs[1], 2, "a kernel [units, inputs]");
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  if (x[-1] != w[1])
    throw ShapeError(
        fmt::format("expected inner dimensions that agree, got {} and {} from {} and {}", x[-1],
                    w[1], to_string(x), to_string(w)));
  expect_weights(attrs, inputs, w[0], w[1]);
  return {{target(attrs), x.with(-1, w[0])}};
}

std::vector<TensorSpec> infer_conv2d(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 4);
  expect_rank(inputs[0], 4, "4-D input [B, H, W, C]");
  expect_rank(inputs[1], 4, "a 4-D kernel [filters, kh, kw, C / groups]");
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  auto groups = attrs.get_or<int64_t>("groups", 1);
  if (groups < 1 || w[0] % groups != 0 || x[3] != w[3] * groups)
    throw ShapeError(fmt::format(
        "expected {} input channels for a kernel {} and {} groups that share the filters, got {}",
        w[3] * groups, to_string(w), groups, to_string(x)));
  expect_weights(attrs, inputs, w[0], w[1] * w[2] * w[3]);
  Window window = read_window(attrs, {w[1], w[2]});
  if (attrs.has("dilation")) window.dilation = read_pair(attrs, "dilation");
  auto [height, width] = output_extent(x, window);
  return {{target(attrs), {x[0], height, width, w[0]}}};
}

std::vector<TensorSpec> infer_add(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  expect_spec(inputs[1], inputs[0], "a second operand");
  expect_params(attrs, "a_scale", "a_zero_point");
  expect_params(attrs, "b_scale", "b_zero_point");
  return {{target(attrs), inputs[0].shape}};
}

std::vector<TensorSpec> infer_multiply(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 2);
  expect_dtype(inputs[1], DType::uint8, "a second operand");
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  if (a != b && !is_gate(a, b))
    throw ShapeError(fmt::format(
        "expected a second operand like the first or with one factor per sample and channel, got "
        "{} and {}",
        to_string(a), to_string(b)));
  expect_params(attrs, "a_scale", "a_zero_point");
  expect_params(attrs, "b_scale", "b_zero_point");
  return {{target(attrs), a}};
}

Shape pooled(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  expect_rank(inputs[0], 4, "4-D input [B, H, W, C]");
  Window window = read_window(attrs, read_pair(attrs, "window"));
  for (size_t i = 0; i < 4; ++i)
    if (window.pads[i] >= window.size[i / 2])
      throw ShapeError(fmt::format("expected padding smaller than the window, got {} for {}x{}",
                                   window.pads[i], window.size[0], window.size[1]));
  const Shape& x = inputs[0].shape;
  auto [height, width] = output_extent(x, window);
  return {x[0], height, width, x[3]};
}

std::vector<TensorSpec> infer_max_pool(const Attrs& attrs, Specs inputs) {
  return {{DType::uint8, pooled(attrs, inputs)}};
}

std::vector<TensorSpec> infer_avg_pool(const Attrs& attrs, Specs inputs) {
  expect_params(attrs, "x_scale", "x_zero_point");
  return {{target(attrs), pooled(attrs, inputs)}};
}

std::vector<TensorSpec> infer_lookup(const Attrs&, Specs inputs) {
  expect_count(inputs, 2);
  expect_spec(inputs[1], {DType::uint8, {kCodes}}, "a table");
  return {inputs[0]};
}

Cost product_cost(const Attrs&, Specs inputs, Specs outputs) {
  const Shape& w = inputs[1].shape;
  double products = w[0] == 0 ? 0 : double(w.elements()) / double(w[0]);
  return cost_of((2 * products + 1) * elements(outputs[0]), inputs, outputs);
}

Cost pool_cost(const Attrs& attrs, Specs inputs, Specs outputs) {
  auto [height, width] = read_pair(attrs, "window");
  return cost_of(elements(outputs[0]) * double(height * width), inputs, outputs);
}

void add_ops(OpRegistry& registry) {
  auto add = [&](const char* name, Infer infer, CostRule cost, DType main = DType::uint8) {
    registry.add(
        {.name = name, .infer = std::move(infer), .cost = std::move(cost), .dtypes = {main}});
  };
  add("quantize", infer_quantize, elementwise_cost(2), DType::float32);
  add("dequantize", infer_dequantize, elementwise_cost(2));
  add("quantized_matmul", infer_matmul, product_cost);
  add("quantized_conv2d", infer_conv2d, product_cost);
  add("quantized_add", infer_add, elementwise_cost(3));
  add("quantized_multiply", infer_multiply, elementwise_cost(2));
  add("quantized_max_pool2d", infer_max_pool, pool_cost);
  add("quantized_avg_pool2d", infer_avg_pool, pool_cost);
  add("quantized_lookup", infer_lookup, no_flops());
}

}  // namespace

}  // namespace quantized

void register_quantized_ops(OpRegistry& registry) { quantized::add_ops(registry); }

}  // namespace stoker
