// softmax, log_softmax, the cross-entropies and the gradient ops. A row of C classes sums C
// products; their scale is bounded with the largest logit and log C, which log(sum(exp)) cannot
// exceed.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

const Fill kLogits{-5, 5};

double classes(const OpRun& run) { return double(run.inputs[0].shape()[-1]); }
// |logit - log(sum(exp(logits)))|
double log_probability(const OpRun& run) {
  return 2 * largest(run.inputs[0]) + std::log(classes(run));
}

std::string name_of(const Shape& x) {
  std::string name = "of";
  for (int64_t extent : x) name += fmt::format("_{}", extent);
  return name;
}

// Probabilities are at most 1, and exp(x - max) is exact where it matters: p |log p| stays below 1.
std::vector<double> softmax_scales(const OpRun& run) { return {2 * largest(run.expected[0])}; }
std::vector<double> log_softmax_scales(const OpRun& run) { return {log_probability(run)}; }
std::vector<double> softmax_grad_scales(const OpRun& run) {
  return {2 * largest(run.inputs[0]) * largest(run.inputs[1])};
}
std::vector<double> log_softmax_grad_scales(const OpRun& run) {
  double likeliest = std::exp(std::ranges::max(numbers(run.inputs[0])));
  return {largest(run.inputs[1]) * (1 + classes(run) * likeliest)};
}
std::vector<double> sparse_grad_scales(const OpRun& run) { return {2 * largest(run.inputs[2])}; }
std::vector<double> dense_scales(const OpRun& run) {
  return {classes(run) * largest(run.inputs[1]) * log_probability(run)};
}
std::vector<double> dense_grad_scales(const OpRun& run) {
  return {largest(run.inputs[2]) * (classes(run) + 1) * largest(run.inputs[1])};
}
std::vector<double> sigmoid_scales(const OpRun& run) {
  return {largest(run.inputs[0]) * (1 + largest(run.inputs[1])) + 1};
}

void add_softmax(OpCaseTable& table, const std::string& op, const Shape& x, const Fill& fill,
                 const std::string& suffix) {
  bool log = op == "log_softmax";
  double n = double(x[-1]);
  table[op].good.push_back(
      {name_of(x) + suffix, {}, {{x, fill}}, scaled(n, log ? log_softmax_scales : softmax_scales)});
  InputCase y{x, fill, {}, true, Derived{op}};
  table[op + "_grad"].good.push_back(
      {name_of(x) + suffix,
       {},
       {y, {x}},
       scaled(n, log ? log_softmax_grad_scales : softmax_grad_scales)});
}

void add_losses(OpCaseTable& table, const Shape& x, const Fill& fill, const std::string& suffix) {
  double n = double(x[-1]);
  Shape rows(x.dims().first(size_t(x.rank() - 1)));
  InputCase logits{x, fill}, dloss{rows, {}, DType::float32}, targets{.shape = x, .fill = {0, 1}};
  for (DType dtype : {DType::int32, DType::int64}) {
    std::string name = fmt::format("{}{}_{}", name_of(x), suffix, stoker::name(dtype));
    InputCase labels{rows, {0, double(x[-1])}, dtype};
    table["sparse_softmax_cross_entropy"].good.push_back(
        {name, {}, {logits, labels}, scaled(n, log_softmax_scales)});
    table["sparse_softmax_cross_entropy_grad"].good.push_back(
        {name, {}, {logits, labels, dloss}, scaled(n, sparse_grad_scales)});
  }
  table["softmax_cross_entropy"].good.push_back(
      {name_of(x) + suffix, {}, {logits, targets}, scaled(n, dense_scales)});
  table["softmax_cross_entropy_grad"].good.push_back(
      {name_of(x) + suffix, {}, {logits, targets, dloss}, scaled(n, dense_grad_scales)});
  table["sigmoid_cross_entropy"].good.push_back(
      {name_of(x) + suffix, {}, {logits, targets}, scaled(4, sigmoid_scales)});
}

void add_bad_calls(OpCaseTable& table) {
  TensorSpec x{DType::float32, {4, 5}}, y{DType::float32, {4, 6}}, loss{DType::float32, {4}},
      ids{DType::int32, {4}}, scalar{DType::float32, {}};
  for (std::string op : {"softmax", "log_softmax"}) {
    table[op].bad = {{"a scalar", {}, {scalar}}, {"integers", {}, {ids}}};
    table[op + "_grad"].bad = {{"a gradient of another shape", {}, {x, y}},
                               {"no gradient", {}, {x}}};
  }
  table["sparse_softmax_cross_entropy"].bad = {
      {"class ids of another length", {}, {x, {DType::int32, {5}}}},
      {"one-hot labels", {}, {x, {DType::int32, {4, 5}}}},
      {"floats for class ids", {}, {x, loss}}};
  table["sparse_softmax_cross_entropy_grad"].bad = {
      {"a loss gradient of another length", {}, {x, ids, {DType::float32, {5}}}}};
  table["softmax_cross_entropy"].bad = {{"targets of another shape", {}, {x, y}},
                                        {"class ids", {}, {x, ids}}};
  table["softmax_cross_entropy_grad"].bad = {
      {"a loss gradient of another length", {}, {x, x, {DType::float32, {5}}}}};
  table["sigmoid_cross_entropy"].bad = {{"targets of another shape", {}, {x, y}},
                                        {"integer targets", {}, {x, {DType::int32, {4, 5}}}}};
}

}  // namespace

void add_softmax_cases(OpCaseTable& table) {
  for (const Shape& x : {Shape{3, 5}, Shape{1, 10}, Shape{7, 1}, Shape{2, 3, 4}, Shape{17},
                         Shape{4, 33}, Shape{33, 10}}) {
    add_softmax(table, "softmax", x, kLogits, "");
    add_softmax(table, "log_softmax", x, kLogits, "");
    add_losses(table, x, kLogits, "");
  }
  add_softmax(table, "softmax", {2, 1000}, kLogits, "");
  add_softmax(table, "log_softmax", {2, 1000}, kLogits, "");
  add_softmax(table, "softmax", {301, 130}, kLogits, "");
  add_softmax(table, "log_softmax", {301, 130}, kLogits, "");
  add_losses(table, {301, 130}, kLogits, "");
  // Far beyond what exp can take: only the subtraction of the largest keeps it finite.
  Fill huge{-300, 300};
  add_softmax(table, "softmax", {5, 9}, huge, "_huge");
  add_softmax(table, "log_softmax", {5, 9}, huge, "_huge");
  add_losses(table, {5, 9}, huge, "_huge");
  add_bad_calls(table);
}

}  // namespace stoker::test
