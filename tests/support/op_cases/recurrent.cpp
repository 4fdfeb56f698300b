// recurrent, recurrent_grad and scan.
#include <cmath>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/ops/scan.h"
#include "support/op_cases.h"

namespace stoker::test {

namespace {

struct Layer {
  std::string cell;
  int64_t batch, length, features, units;
  bool reverse = false, masked = false, zero_masked = false;

  bool lstm() const { return cell == "lstm"; }
  int64_t gates() const { return lstm() ? 4 : cell == "gru" ? 3 : 1; }
  std::string name() const {
    return fmt::format("{}_{}_{}_{}_{}{}{}{}", cell, batch, length, features, units,
                       reverse ? "_reverse" : "", masked ? "_masked" : "",
                       zero_masked ? "_zeros" : "");
  }
  Attrs attrs() const {
    return {{"cell", cell}, {"reverse", reverse}, {"masked", masked}, {"zero_masked", zero_masked}};
  }
};

// Engines keep states and gates in the layer's dtype: what rounding them once per step adds.
double unit(DType dtype) {
  return dtype == DType::float16 ? 0x1p-10 : dtype == DType::bfloat16 ? 0x1p-7 : 0x1p-23;
}

// The largest of the sums behind a gate, which are rounded before they are added: about as large as
// the root of the number of their terms says.
double partial_sum(const OpRun& run) {
  const Tensor &x = run.inputs[0], &kernel = run.inputs[1], &recurrent = run.inputs[2];
  double terms = double(kernel.shape()[0] + recurrent.shape()[0]);
  return std::sqrt(terms) * std::max(largest(x), 1.0) *
         std::max(largest(kernel), largest(recurrent));
}

// `scales`: the sum of absolute products behind an element of each output.
Bound through_time(const Layer& layer, std::function<std::vector<double>(const OpRun&)> scales) {
  double products = double(layer.length * (layer.features + layer.units));
  return [=](const OpRun& run) {
    std::vector<double> scale = scales(run);
    DType dtype = run.inputs[0].dtype();
    Tolerances tolerances;
    for (size_t output = 0; output < run.expected.size(); ++output) {
      double each = 8 * std::sqrt(products) * 0x1p-23 * scale[output];
      if (dtype != kFloat32)
        each += double(layer.length) * unit(dtype) *
                (2 * largest(run.expected[output]) + partial_sum(run));
      tolerances.emplace_back(size_t(run.expected[output].elements()), each);
    }
    return tolerances;
  };
}

std::vector<double> forward_scales(const OpRun& run) {
  double terms = double(run.inputs[1].shape()[0] + run.inputs[2].shape()[0]);
  std::vector<double> scales;
  for (const Tensor& expected : run.expected)
    scales.push_back(std::sqrt(terms) * std::max(largest(expected), 1.0));
  return scales;
}

// A sum of `terms` products of either sign is about as large as the root of their number says, so
// that the sum of the absolute products is as much larger than what comes out.
std::vector<double> backward_scales(const OpRun& run) {
  const Shape &x = run.inputs[0].shape(), &kernel = run.inputs[1].shape();
  double steps = double(x[0] * x[1]), columns = double(kernel[1]);
  std::vector<double> terms = {columns, steps, steps, steps, columns, columns}, scales;
  for (size_t i = 0; i < run.expected.size(); ++i)
    scales.push_back(std::sqrt(terms[i]) * largest(run.expected[i]));
  return scales;
}

std::vector<InputCase> operands(const Layer& layer, const Fill& x, const Fill& weights) {
  int64_t columns = layer.gates() * layer.units;
  Shape state{layer.batch, layer.units};
  std::vector<InputCase> inputs = {
      {{layer.batch, layer.length, layer.features}, x},
      {{layer.features, columns}, weights},
      {{layer.units, columns}, weights},
      {layer.cell == "gru" ? Shape{2, columns} : Shape{columns}, weights},
      {state, x}};
  if (layer.lstm()) inputs.push_back({state});
  if (layer.masked) inputs.push_back({{layer.batch, layer.length}, {0, 2}, kBool});
  return inputs;
}

void add_layer(OpCaseTable& table, const Layer& layer, const Fill& x = {},
               const Fill& weights = {-0.4, 0.4}) {
  bool kinks = layer.cell == "rnn_relu" && x.low < 0;
  OpCase forward{layer.name(), layer.attrs(), operands(layer, x, weights),
                 through_time(layer, forward_scales), !kinks};
  if (kinks) forward.name += "_kinks";
  // On which side of a kink a 16-bit state lies is decided by rounding.
  if (kinks) forward.dtypes = {kFloat32};
  table["recurrent"].good.push_back(forward);
  OpCase backward{forward.name, layer.attrs(), forward.inputs, through_time(layer, backward_scales),
                  false,        forward.dtypes};
  std::vector<size_t> all(forward.inputs.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  Shape y{layer.batch, layer.length, layer.units}, state{layer.batch, layer.units};
  backward.inputs.push_back({y, {}, {}, true, Derived{"recurrent", layer.attrs(), all, 0}});
  backward.inputs.push_back({y});
  backward.inputs.push_back({state});
  if (layer.lstm()) backward.inputs.push_back({state});
  table["recurrent_grad"].good.push_back(backward);
}

void add_bad_layers(OpCaseTable& table) {
  Layer layer{"lstm", 2, 3, 4, 5};
  std::vector<TensorSpec> good;
  for (const InputCase& input : operands(layer, {}, {})) good.push_back({kFloat32, input.shape});
  auto with = [&](size_t index, const TensorSpec& spec) {
    std::vector<TensorSpec> specs = good;
    specs[index] = spec;
    return specs;
  };
  Attrs masked = layer.attrs();
  masked.set("masked", true);
  table["recurrent"].bad = {
      {"an image", layer.attrs(), with(0, {kFloat32, {2, 3, 4, 5}})},
      {"a kernel for other inputs", layer.attrs(), with(1, {kFloat32, {3, 20}})},
      {"three gates", layer.attrs(), with(2, {kFloat32, {5, 15}})},
      {"a bias of a gru", layer.attrs(), with(3, {kFloat32, {2, 20}})},
      {"a state of another batch", layer.attrs(), with(4, {kFloat32, {3, 5}})},
      {"no mask", masked, good},
      {"no cell state", layer.attrs(), {good.begin(), good.end() - 1}}};
  table["recurrent_grad"].bad = {{"no gradients", layer.attrs(), good}};
}

// --- scan ---

ScanCall loop(bool reverse) {
  auto body = std::make_shared<Graph>();
  Value h = body->input("h", {kFloat32, {2, 3}}), count = body->input("n", {DType::int64, {}});
  Value x = body->input("x", {kFloat32, {2, 3}}), w = body->input("w", {kFloat32, {3, 3}});
  Value next = ops::tanh(ops::matmul(h, w) + x);
  body->output(next, "");
  body->output(apply1("binary", {count, count}, {{"fn", std::string("add")}}), "");
  body->output(next * x, "");
  body->output(next, "");
  return {
      body, 5, reverse, {ScanRole::carry, ScanRole::carry, ScanRole::sequence, ScanRole::captured}};
}

void add_loops(OpCaseTable& table) {
  for (bool reverse : {false, true}) {
    ScanCall call = loop(reverse);
    table["scan"].good.push_back({reverse ? "reverse" : "forward",
                                  call.attrs(),
                                  {{{2, 3}}, {{}, {1, 4}, DType::int64}, {{5, 2, 3}}, {{3, 3}}},
                                  [](const OpRun& run) {
                                    Tolerances tolerances;
                                    for (const Tensor& output : run.expected)
                                      tolerances.emplace_back(size_t(output.elements()),
                                                              128 * 0x1p-23);
                                    return tolerances;
                                  }});
  }
  ScanCall call = loop(false);
  TensorSpec h{kFloat32, {2, 3}}, n{DType::int64, {}}, x{kFloat32, {5, 2, 3}}, w{kFloat32, {3, 3}};
  table["scan"].bad = {{"a shorter sequence", call.attrs(), {h, n, {kFloat32, {4, 2, 3}}, w}},
                       {"no matrix", call.attrs(), {h, n, x}},
                       {"a carry of another shape", call.attrs(), {{kFloat32, {3, 3}}, n, x, w}}};
  table["scan"].differentiable_outputs = 5;
}

}  // namespace

void add_recurrent_cases(OpCaseTable& table) {
  for (std::string cell : {"lstm", "gru", "rnn_tanh", "rnn_relu"}) {
    for (bool reverse : {false, true})
      for (bool masked : {false, true}) add_layer(table, {cell, 3, 4, 2, 3, reverse, masked});
    add_layer(table, {cell, 3, 4, 2, 3, false, true, true});
    add_layer(table, {cell, 1, 1, 1, 1});
    add_layer(table, {cell, 7, 5, 3, 33});
    add_layer(table, {cell, 13, 3, 8, 64, true, true});
    add_layer(table, {cell, 64, 3, 8, 48});
  }
  add_layer(table, {"rnn_relu", 3, 4, 2, 3}, {0.5, 1}, {0.1, 0.4});
  table["recurrent"].differentiable_outputs = 3;
  add_bad_layers(table);
  add_loops(table);
}

// Two, four, eight and sixteen blocks, in the last one not all of its units; rows for two tiles.
OpCaseTable large_recurrent_cases() {
  OpCaseTable table;
  Fill weights{-0.1, 0.1};
  for (std::string cell : {"lstm", "gru"}) {
    add_layer(table, {cell, 9, 4, 5, 63}, {}, weights);
    add_layer(table, {cell, 9, 4, 5, 128}, {}, weights);
    add_layer(table, {cell, 17, 4, 4, 168, true, true}, {}, weights);
    add_layer(table, {cell, 3, 5, 3, 512, false, true, true}, {}, weights);
    add_layer(table, {cell, 58, 3, 4, 260, false, true}, {}, weights);
    add_layer(table, {cell, 58, 6, 4, 264}, {}, weights);
  }
  return table;
}

}  // namespace stoker::test
