// attention and attention_grad: every kind of mask, grouped heads, odd lengths and head sizes.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "graph/ops/attention.h"
#include "support/op_cases.h"

namespace stoker::test {

namespace {

struct Heads {
  int64_t batch, queries, keys, heads, kv_heads, dim, value_dim;
};

// How a mask is given: extents of [B, heads, Tq, Tk] that are 1, and what it is.
struct Masking {
  std::string name = "";
  std::vector<int> repeated = {};  // axes
  bool bias = false;
  Fill fill = {0, 2};
};

struct Attended {
  Heads size;
  bool causal = false;
  Masking mask = {};
  double rate = 0;
  std::optional<double> scale = {};
  Fill fill = {};

  bool masked() const { return !mask.name.empty(); }
  std::string name() const {
    const Heads& s = size;
    return fmt::format("of_{}_{}x{}_{}to{}_{}_{}{}{}{}{}", s.batch, s.queries, s.keys, s.heads,
                       s.kv_heads, s.dim, s.value_dim, causal ? "_causal" : "",
                       masked() ? "_" + mask.name : "", rate > 0 ? "_dropout" : "",
                       scale ? "_scaled" : "");
  }
  Attrs attrs() const {
    Attrs attrs = {
        {"causal", causal}, {"masked", masked()}, {"rate", rate}, {"stream", int64_t(3)}};
    if (scale) attrs.set("scale", *scale);
    return attrs;
  }
  std::vector<InputCase> inputs() const {
    const Heads& s = size;
    std::vector<InputCase> found = {{{s.batch, s.queries, s.heads, s.dim}, fill},
                                    {{s.batch, s.keys, s.kv_heads, s.dim}, fill},
                                    {{s.batch, s.keys, s.kv_heads, s.value_dim}}};
    Shape shape{s.batch, s.heads, s.queries, s.keys};
    for (int axis : mask.repeated) shape.set(axis, 1);
    if (masked() && mask.bias) found.push_back({shape, mask.fill});
    if (masked() && !mask.bias) found.push_back({shape, mask.fill, DType::bool_});
    if (rate > 0) found.push_back({{2}, {.low = 0, .high = 1000}, DType::int64});
    return found;
  }
};

double unit(DType dtype) {
  return dtype == DType::float16 ? 0x1p-10 : dtype == DType::bfloat16 ? 0x1p-7 : 0;
}

AttentionShape shape_of(const OpRun& run, AttentionShape::Op op) {
  std::vector<TensorSpec> specs;
  for (const Tensor& input : run.inputs) specs.push_back(input.spec());
  return AttentionShape(run.attrs, specs, op);
}

// The largest score: its rounding is the relative error of a weight.
double score_of(const OpRun& run, const AttentionShape& s) {
  double bias = 0;
  if (s.bias)
    for (double x : numbers(run.inputs[s.mask()]))
      bias = std::max(bias, std::isinf(x) ? 0 : std::abs(x));
  return std::abs(s.scale) * double(s.dim) * largest(run.inputs[s.query()]) *
             largest(run.inputs[s.key()]) +
         bias;
}

// A bound by products, and what rounding weights or their gradients to the operands' 16 bits in
// front of the second product adds: one unit of each, of either sign.
Bound rounded(double products, AttentionShape::Op op,
              std::function<std::vector<double>(const OpRun&)> scales,
              std::function<std::vector<double>(const OpRun&)> rounded_sums) {
  Bound sums = scaled(products, std::move(scales));
  return [=](const OpRun& run) {
    Tolerances tolerances = sums(run);
    std::vector<double> terms = rounded_sums(run);
    double each = unit(run.inputs[shape_of(run, op).query()].dtype());
    for (size_t output = 0; output < tolerances.size(); ++output)
      for (double& tolerance : tolerances[output]) tolerance += each * terms[output];
    return tolerances;
  };
}

std::vector<double> forward_scales(const OpRun& run) {
  AttentionShape s = shape_of(run, AttentionShape::Op::forward);
  double score = score_of(run, s), value = largest(run.inputs[s.value()]) / (1 - s.rate);
  return {value * (1 + 2 * score), score + std::log(double(s.keys)) + 1};
}
std::vector<double> forward_rounding(const OpRun& run) {
  AttentionShape s = shape_of(run, AttentionShape::Op::forward);
  return {largest(run.inputs[s.value()]) / (1 - s.rate), 0};
}

// How large the terms of a gradient get, where the gradient of a weight is as large as `dims` of its
// products. The weights of a query add up to 1; errors of a key's queries add up as their root.
std::vector<double> gradient_sizes(const OpRun& run, const AttentionShape& s, double dims) {
  double dout = largest(run.inputs[AttentionShape::kDout]);
  double dweight =
      dims * dout * (largest(run.inputs[s.value()]) / (1 - s.rate) + largest(run.inputs[s.out()]));
  double readers = std::sqrt(double(s.queries * s.group()));
  return {std::abs(s.scale) * largest(run.inputs[s.key()]) * dweight,
          std::abs(s.scale) * largest(run.inputs[s.query()]) * dweight * readers,
          dout * readers / (1 - s.rate),
          dweight * std::sqrt(double(s.batch * s.heads * s.queries))};
}
std::vector<double> backward_scales(const OpRun& run) {
  AttentionShape s = shape_of(run, AttentionShape::Op::gradient);
  std::vector<double> sizes = gradient_sizes(run, s, std::sqrt(double(s.value_dim)));
  for (double& size : sizes) size *= 1 + score_of(run, s);
  return sizes;
}
std::vector<double> backward_rounding(const OpRun& run) {
  AttentionShape s = shape_of(run, AttentionShape::Op::gradient);
  return gradient_sizes(run, s, double(s.value_dim));
}

// Gradients are checked where finite differences are quick.
void add(OpCaseTable& table, const Attended& call, bool smooth = true) {
  bool gradient = smooth && call.size.queries * call.size.keys <= 100 && call.size.dim <= 8;
  using Op = AttentionShape::Op;
  const Heads& s = call.size;
  double products = double(std::max({s.queries, s.keys, s.dim, s.value_dim}));
  OpCase forward{call.name(), call.attrs(), call.inputs(),
                 rounded(products, Op::forward, forward_scales, forward_rounding), gradient};
  table["attention"].good.push_back(forward);
  Attrs attrs = call.attrs();
  if (call.masked() && call.mask.bias) attrs.set("bias_gradient", true);
  Shape out{s.batch, s.queries, s.heads, s.value_dim}, rows{s.batch, s.heads, s.queries};
  OpCase backward{call.name(),
                  attrs,
                  {{out}},
                  rounded(products, Op::gradient, backward_scales, backward_rounding),
                  gradient};
  std::vector<size_t> behind;
  for (const InputCase& input : forward.inputs) {
    behind.push_back(backward.inputs.size());
    backward.inputs.push_back(input);
  }
  backward.inputs.push_back({out, {}, {}, true, Derived{"attention", call.attrs(), behind, 0}});
  backward.inputs.push_back(
      {rows, {}, DType::float32, true, Derived{"attention", call.attrs(), behind, 1}});
  table["attention_grad"].good.push_back(backward);
}

void add_bad_calls(OpCaseTable& table) {
  const DType f = DType::float32;
  TensorSpec q{f, {2, 3, 4, 5}}, kv{f, {2, 6, 2, 5}}, lse{f, {2, 4, 3}};
  Attrs masked = {{"masked", true}}, dropout = {{"rate", 0.5}, {"stream", int64_t(0)}};
  table["attention"].bad = {
      {"no value", {}, {q, kv}},
      {"a query without heads", {}, {{f, {2, 3, 20}}, kv, kv}},
      {"heads that are no multiple", {}, {{f, {2, 3, 3, 5}}, kv, kv}},
      {"a key of another dimension", {}, {q, {f, {2, 6, 2, 4}}, kv}},
      {"a value of another length", {}, {q, kv, {f, {2, 5, 2, 5}}}},
      {"another batch", {}, {q, {f, {3, 6, 2, 5}}, {f, {3, 6, 2, 5}}}},
      {"a mask that does not broadcast", masked, {q, kv, kv, {DType::bool_, {2, 4, 3, 5}}}},
      {"a mask of three axes", masked, {q, kv, kv, {DType::bool_, {2, 3, 6}}}},
      {"a mask of integers", masked, {q, kv, kv, {DType::int32, {2, 4, 3, 6}}}},
      {"no mask", masked, {q, kv, kv}},
      {"no random state", dropout, {q, kv, kv}},
      {"a rate of 1", {{"rate", 1.0}}, {q, kv, kv, {DType::int64, {2}}}},
  };
  table["attention_grad"].bad = {
      {"no logsumexp", {}, {q, q, kv, kv, q}},
      {"a gradient of another shape", {}, {kv, q, kv, kv, q, lse}},
      {"the gradient of no bias", {{"bias_gradient", true}}, {q, q, kv, kv, q, lse}},
  };
}

}  // namespace

void add_attention_cases(OpCaseTable& table) {
  const Masking whole{"mask"}, by_key{"key_mask", {1, 2}},
      by_query{"empty_rows", {0, 1, 3}, false, {.values = {1, 0, 1}}},
      shared{"shared_mask", {0, 1}}, one{"one_mask", {0, 1, 2}, false, {.values = {1, 1, 0}}},
      bias{"bias", {}, true, {}}, head_bias{"head_bias", {0}, true, {}},
      key_bias{"key_bias", {1, 2}, true, {}};
  const Heads small{2, 3, 5, 4, 2, 3, 2};
  for (bool causal : {false, true})
    for (const Masking& mask :
         {Masking{}, whole, by_key, by_query, shared, one, bias, head_bias, key_bias})
      add(table, {small, causal, mask});
  add(table, {small, false, {}, 0.4});
  add(table, {small, true, whole, 0.4});
  add(table, {small, true, bias, 0.4});
  add(table, {small, false, {}, 0, 0.3});
  // -infinity in a bias hides a key; the second row of six sees none.
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  Masking hidden{"hidden",
                 {0, 1},
                 true,
                 {.values = {0.5, kHidden, -1, 0.25, 1, kHidden, kHidden, kHidden, kHidden, kHidden,
                             0.5, 0, kHidden, 2, -2}}};
  add(table, {small, false, hidden}, false);
  // Longer than a query is causal for, and shorter.
  add(table, {{1, 7, 4, 2, 2, 5, 5}, true});
  add(table, {{1, 1, 1, 1, 1, 1, 1}});
  add(table, {{2, 1, 9, 3, 1, 8, 8}});
  // Head sizes that kernels have, and that they have not; lengths around their blocks.
  for (int64_t dim : {8, 16, 17, 32, 64, 80, 128}) add(table, {{1, 37, 41, 2, 2, dim, dim}, true});
  add(table, {{1, 64, 64, 2, 1, 64, 64}});
  add(table, {{1, 5, 70, 2, 1, 200, 130}, true});
  add(table, {{1, 66, 5, 1, 1, 30, 300}});
  add(table, {{1, 130, 130, 1, 1, 64, 64}, true});
  add(table, {{1, 67, 257, 2, 1, 16, 16}, false, by_key});
  add(table, {{1, 65, 190, 1, 1, 96, 40}, true, shared});
  add(table, {{1, 70, 70, 2, 2, 32, 32}, true, {}, 0.25});
  add(table, {{1, 66, 131, 2, 1, 16, 16}, false, head_bias});
  // Lengths of several blocks: tiles that a mask hides as a whole, dropout across them, its numbers out of step with the keys.
  Masking padding{"padding", {1, 2}};
  for (int key = 0; key < 400; ++key)
    padding.fill.values.push_back(key < 130 || key == 390 ? 1 : 0);
  add(table, {{1, 70, 400, 2, 1, 64, 64}, false, padding});
  add(table, {{1, 200, 200, 1, 1, 64, 64}, true, {}, 0.2});
  add(table, {{1, 66, 135, 2, 2, 128, 128}, false, whole, 0.3});
  add(table, {{1, 50, 131, 1, 1, 40, 72}, true, {}, 0.5});
  add(table, {{1, 135, 70, 2, 1, 64, 64}, false, by_query});
  add(table, {{1, 40, 40, 1, 1, 64, 64}, false, {}, 0, -0.2});
  // Scores far beyond what exp can take.
  add(table, {{1, 9, 9, 2, 2, 4, 4}, false, {}, 0, 1.0, {-6, 6}}, false);
  table["attention"].differentiable_outputs = 2;
  table["attention_grad"].differentiable_outputs = 4;
  add_bad_calls(table);
}

}  // namespace stoker::test
