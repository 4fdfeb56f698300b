// batch_norm, batch_norm_inference, layer_norm and the gradient ops. Scales are upper bounds built
// from the largest element of each operand: what a sum of absolute products cannot exceed.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

constexpr double kEpsilon = 1e-3;
const Fill kGamma{0.5, 1.5}, kVariance{0.5, 2};

double smallest(const Tensor& tensor) { return std::ranges::min(numbers(tensor)); }

// The largest |x - mean| / deviation, as an engine may compute it from numbers up to |x|.
double normalized(const Tensor& x, double rstd) { return 2 * largest(x) * rstd; }

Attrs attributes(const std::string& activation = "") {
  return {{"epsilon", kEpsilon}, {"activation", activation}};
}

double rows_of(const Shape& x, int features) {
  double rows = 1;
  for (int axis = 0; axis < x.rank() - features; ++axis) rows *= double(x[axis]);
  return rows;
}

std::string name_of(const Shape& x) {
  std::string name = "of";
  for (int64_t extent : x) name += fmt::format("_{}", extent);
  return name;
}

// --- batch_norm: x, gamma, beta -> y, mean, variance ---

std::vector<double> batch_norm_scales(const OpRun& run) {
  double rstd = 1 / std::sqrt(smallest(run.expected[2]) + kEpsilon), x = largest(run.inputs[0]);
  return {normalized(run.inputs[0], rstd) * largest(run.inputs[1]) + largest(run.inputs[2]), x,
          4 * x * x};
}

// --- batch_norm_grad: dy, x, gamma, mean, variance [, y] -> dx, dgamma, dbeta ---

std::vector<double> batch_norm_grad_scales(const OpRun& run) {
  double rstd = 1 / std::sqrt(smallest(run.inputs[4]) + kEpsilon), dy = largest(run.inputs[0]);
  double x = normalized(run.inputs[1], rstd), rows = rows_of(run.inputs[1].shape(), 1);
  return {largest(run.inputs[2]) * rstd * dy * (2 + x * x), rows * dy * x, rows * dy};
}

std::vector<double> batch_norm_inference_scales(const OpRun& run) {
  double rstd = 1 / std::sqrt(smallest(run.inputs[4]) + kEpsilon);
  double x = (largest(run.inputs[0]) + largest(run.inputs[3])) * rstd;
  return {x * largest(run.inputs[1]) + largest(run.inputs[2])};
}

void add_batch_norm(OpCaseTable& table, const Shape& x, const std::string& activation) {
  std::string name = name_of(x) + (activation.empty() ? "" : "_" + activation);
  Shape channels{x[-1]};
  double rows = rows_of(x, 1);
  bool plain = activation.empty();
  InputCase gamma{channels, kGamma, kFloat32}, beta{channels, {}, kFloat32};
  table["batch_norm"].good.push_back(
      {name, attributes(activation), {{x}, gamma, beta}, scaled(rows, batch_norm_scales), plain});

  auto statistic = [&](size_t output) {
    return InputCase{
        channels, {}, kFloat32, true, Derived{"batch_norm", attributes(), {1, 2, 2}, output}};
  };
  OpCase gradient{name,
                  attributes(activation),
                  {{x}, {x}, gamma, statistic(1), statistic(2)},
                  scaled(rows, batch_norm_grad_scales),
                  plain};
  if (!plain)
    gradient.inputs.push_back(
        {x, {}, {}, true, Derived{"batch_norm", attributes(activation), {1, 2, 2}, 0}});
  table["batch_norm_grad"].good.push_back(gradient);

  InputCase variance{channels, kVariance, kFloat32};
  table["batch_norm_inference"].good.push_back({name,
                                                attributes(activation),
                                                {{x}, gamma, beta, beta, variance},
                                                scaled(1, batch_norm_inference_scales),
                                                plain});
}

// --- layer_norm: x, gamma, beta -> y, mean, rstd ---

std::vector<double> layer_norm_scales(const OpRun& run) {
  double rstd = largest(run.expected[2]), x = largest(run.inputs[0]);
  // d(rstd) = rstd³ / 2 · d(variance)
  return {normalized(run.inputs[0], rstd) * largest(run.inputs[1]) + largest(run.inputs[2]), x,
          2 * rstd * rstd * rstd * x * x};
}

// --- layer_norm_grad: dy, x, gamma, mean, rstd -> dx, dgamma, dbeta ---

std::vector<double> layer_norm_grad_scales(const OpRun& run) {
  double rstd = largest(run.inputs[4]), dy = largest(run.inputs[0]);
  double x = normalized(run.inputs[1], rstd),
         rows = rows_of(run.inputs[1].shape(), run.inputs[2].shape().rank());
  return {rstd * dy * largest(run.inputs[2]) * (2 + x * x), rows * dy * x, rows * dy};
}

void add_layer_norm(OpCaseTable& table, const Shape& x, int features) {
  std::string name = fmt::format("{}_over_{}", name_of(x), features);
  Shape parameters(x.dims().last(size_t(features))),
      rows(x.dims().first(size_t(x.rank() - features)));
  InputCase gamma{parameters, kGamma, kFloat32}, beta{parameters, {}, kFloat32};
  Attrs attrs = {{"epsilon", kEpsilon}};
  table["layer_norm"].good.push_back(
      {name, attrs, {{x}, gamma, beta}, scaled(double(parameters.elements()), layer_norm_scales)});
  auto statistic = [&](size_t output) {
    return InputCase{rows, {}, kFloat32, true, Derived{"layer_norm", attrs, {1, 2, 2}, output}};
  };
  double products = std::max(double(parameters.elements()), rows_of(x, features));
  table["layer_norm_grad"].good.push_back({name,
                                           {},
                                           {{x}, {x}, gamma, statistic(1), statistic(2)},
                                           scaled(products, layer_norm_grad_scales)});
}

void add_bad_calls(OpCaseTable& table) {
  TensorSpec x{kFloat32, {4, 5, 3}}, c{kFloat32, {3}}, wrong{kFloat32, {4}},
      half{DType::float16, {3}}, rows{kFloat32, {4, 5}};
  table["batch_norm"].bad = {{"gamma of another length", attributes(), {x, wrong, c}},
                             {"gamma in half precision", attributes(), {x, half, c}},
                             {"a vector", attributes(), {c, c, c}},
                             {"no beta", attributes(), {x, c}}};
  table["batch_norm_grad"].bad = {
      {"a gradient of another shape", attributes(), {{kFloat32, {4, 3}}, x, c, c, c}},
      {"a mean of another length", attributes(), {x, x, c, wrong, c}}};
  table["batch_norm_inference"].bad = {
      {"a variance of another length", attributes(), {x, c, c, c, wrong}},
      {"no statistics", attributes(), {x, c, c}}};
  table["layer_norm"].bad = {{"gamma of other dimensions", attributes(), {x, wrong, wrong}},
                             {"beta of another shape", attributes(), {x, c, wrong}},
                             {"a scalar gamma", attributes(), {x, {kFloat32, {}}, {kFloat32, {}}}}};
  table["layer_norm_grad"].bad = {{"a mean of another shape", {}, {x, x, c, wrong, rows}},
                                  {"gamma of another length", {}, {x, x, wrong, rows, rows}}};
}

}  // namespace

void add_normalization_cases(OpCaseTable& table) {
  for (const Shape& x : {Shape{6, 3}, Shape{2, 5, 5, 3}, Shape{1, 7, 7, 30}, Shape{9, 1},
                         Shape{3, 4, 17}, Shape{4, 3, 3, 16}, Shape{50, 8}})
    for (std::string activation : {"", "relu"}) add_batch_norm(table, x, activation);
  for (const Shape& x : {Shape{8, 15, 15, 33}, Shape{4, 9, 16, 58}, Shape{4, 2, 4, 300}})
    add_batch_norm(table, x, "relu");
  add_layer_norm(table, {4, 7}, 1);
  add_layer_norm(table, {2, 3, 16}, 1);
  add_layer_norm(table, {3, 4, 5}, 2);
  add_layer_norm(table, {1, 30}, 1);
  add_layer_norm(table, {9}, 1);
  add_layer_norm(table, {2, 3, 3, 4}, 3);
  add_layer_norm(table, {37, 65}, 1);
  add_layer_norm(table, {301, 129}, 1);
  add_layer_norm(table, {5, 96}, 1);
  add_layer_norm(table, {3, 768}, 1);
  for (const char* op : {"batch_norm", "batch_norm_grad", "layer_norm", "layer_norm_grad"})
    table[op].differentiable_outputs = 3;
  add_bad_calls(table);
}

}  // namespace stoker::test
