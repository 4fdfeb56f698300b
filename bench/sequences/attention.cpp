#include "sequences/attention.h"

#include <fmt/format.h>
#include <stoker/attention.h>
#include <stoker/stoker.h>

#include "common/timing.h"
#include "engine/registry.h"
#include "graph/op.h"

namespace stoker::bench {

std::string AttentionCase::name() const {
  return fmt::format("attention b{} h{} T{} d{}{}{}{}", batch, heads, length, dim,
                     causal ? " causal" : "", masked ? " masked" : "", rate > 0 ? " dropout" : "");
}

std::vector<AttentionCase> attention_cases() {
  return {{4, 16, 4096, 128, true},
          {4, 16, 4096, 128, false},
          {4, 16, 4096, 64, true},
          {4, 16, 4096, 64, false},
          {16, 12, 1024, 64, true},
          {16, 12, 1024, 64, false, true},
          {16, 12, 1024, 64, false, false, 0.1},
          {16, 12, 1024, 64, false, true, 0.1}};
}

namespace {

double seconds_of(const AttentionCase& size, bool gradient, bool deterministic) {
  Graph graph;
  TensorSpec spec{DType::bfloat16, {size.batch, size.length, size.heads, size.dim}};
  Values rows;
  std::vector<Tensor> inputs;
  for (const char* name : {"query", "key", "value", "dout"}) {
    rows.push_back(graph.input(name, spec));
    Tensor numbers(DType::float32, spec.shape);
    Rng rng(inputs.size() + 1);
    for (float& number : std::span(numbers.data_mut<float>(), size_t(numbers.elements())))
      number = rng.uniform(-1, 1);
    inputs.push_back(numbers.cast(DType::bfloat16));
  }
  Attrs attrs = {{"causal", size.causal},
                 {"deterministic", deterministic},
                 {"masked", size.masked},
                 {"rate", size.rate}};
  Values operands = {rows[0], rows[1], rows[2]};
  if (size.masked) {
    inputs.push_back(Tensor::full({size.batch, 1, 1, size.length}, 1, DType::bool_));
    operands.push_back(graph.input("mask", inputs.back().spec()));
  }
  if (size.rate > 0) {
    inputs.push_back(Tensor::full({2}, 7, DType::int64));
    operands.push_back(graph.input("state", inputs.back().spec()));
  }
  Values forward = apply("attention", operands, attrs);
  Values results = {forward[0]};
  if (gradient) {
    Values behind = {rows[3]};
    for (const Values& more : {operands, forward})
      behind.insert(behind.end(), more.begin(), more.end());
    results = apply("attention_grad", behind, attrs);
  }
  for (const Value& result : results) graph.output(ops::sum(result), "sum");
  auto program = backend("cuda").compile(graph, {});
  std::vector<int64_t> nanoseconds;
  Samples samples;
  for (int i = 0; i < 12; ++i) {
    program->run_timed(inputs, nanoseconds);
    for (size_t k = 0; i > 1 && k < nanoseconds.size(); ++k)
      if (program->kernels()[k].op == (gradient ? "attention_grad" : "attention"))
        samples.add(double(nanoseconds[k]) * 1e-9);
  }
  return samples.median();
}

}  // namespace

std::vector<Row> measure_attention(const AttentionCase& size) {
  double pairs = double(size.batch * size.heads) * double(size.length) * double(size.length) *
                 (size.causal ? 0.5 : 1);
  auto row = [&](const std::string& what, double seconds, int products) {
    double rate = 2 * products * pairs * double(size.dim) / seconds * 1e-12;
    return Row{.name = size.name() + what,
               .value = seconds * 1e3,
               .unit = "ms",
               .note = fmt::format("{:.0f} TFLOP/s", rate)};
  };
  return {row(" forward", seconds_of(size, false, true), 2),
          row(" gradient", seconds_of(size, true, true), 5),
          row(" gradient, any order", seconds_of(size, true, false), 5)};
}

}  // namespace stoker::bench
