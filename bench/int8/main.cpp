// How much faster is int8?
//   bench_int8 [--json FILE] [--device cpu] [--batch 32] [--only TEXT]
// Networks on a CPU: predictions in float32 and in int8, taking turns. On a GPU (--device cuda): the
// product of 4096³ in int8 and in bfloat16, by the time of its kernels, and the whole op with
// what stands around the product.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <stoker/applications.h>
#include <stoker/quantize.h>
#include <stoker/random.h>

#include "common/options.h"
#include "common/report.h"
#include "common/timing.h"
#include "engine/backend.h"
#include "graph/graph.h"

namespace stoker::bench {

namespace {

struct Arguments : Options {
  std::string device = "cpu";
  int64_t batch = 32;
  std::vector<Flag> flags() {
    return with(Options::flags(), {{"--device", &device}, {"--batch", &batch}});
  }
};

Tensor uniform(const Shape& shape, uint64_t seed) {
  Tensor tensor(DType::float32, shape);
  Rng rng(seed);
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.data_mut<float>()[i] = rng.uniform();
  return tensor;
}

// How many times as fast int8 is, from the medians of blocks that took turns.
void add_ratio(Report& report, const std::string& name, double bar,
               const std::function<void()>& wide, const std::function<void()>& narrow,
               double seconds) {
  std::vector<Samples> times =
      take_turns({{"float", wide}, {"int8", narrow}}, {.block = 3, .seconds = seconds});
  report.add({.name = name,
              .value = times[0].median() / times[1].median(),
              .unit = "x",
              .bar = bar,
              .note = fmt::format("float {}, int8 {}", times[0].text(), times[1].text())});
}

void add_networks(Report& report, const Arguments& arguments) {
  struct Network {
    const char* name;
    Shape input;
    double bar;
  };
  for (const Network& each : {Network{"cnn", {28, 28, 1}, 2}, Network{"resnet18", {64, 64, 3}, 2},
                              Network{"mobilenet", {64, 64, 3}, 1}}) {
    std::string row = fmt::format("{}, batch {}", each.name, arguments.batch);
    if (!arguments.wants(row)) continue;
    Model model = applications::by_name(each.name, {.input_shape = each.input, .classes = 10});
    Tensor x = uniform(each.input.prepend(arguments.batch), 1);
    Model narrow = quantize(model, x).model;
    add_ratio(
        report, row, each.bar, [&] { model.predict_on_batch(x); },
        [&] { narrow.predict_on_batch(x); }, arguments.longer ? 30 : 8);
  }
}

// --- products on a GPU ---

constexpr int64_t kSide = 4096;

struct Kernels {
  double product = 0, all = 0;  // milliseconds
};

// The least of some runs.
Kernels timed(Program& program, const std::vector<Tensor>& inputs) {
  Kernels best{1e30, 1e30};
  std::vector<int64_t> times;
  for (int run = 0; run < 20; ++run) {
    program.run_timed(inputs, times);
    Kernels now;
    for (size_t i = 0; i < times.size(); ++i) {
      double ms = double(times[i]) * 1e-6;
      now.all += ms;
      if (program.kernels()[i].kernel.find("cublas") != std::string::npos) now.product += ms;
    }
    best = {std::min(best.product, now.product), std::min(best.all, now.all)};
  }
  return best;
}

Kernels int8_product(Backend& engine) {
  Graph graph;
  Value x = graph.input("x", {DType::uint8, {kSide, kSide}});
  Value w = graph.input("w", {DType::int8, {kSide, kSide}});
  Value bias = graph.input("bias", {DType::int32, {kSide}});
  Attrs attrs = {{"x_scale", 0.01},
                 {"x_zero_point", int64_t(0)},
                 {"y_scale", 0.5},
                 {"y_zero_point", int64_t(0)}};
  Tensor scales = Tensor::full({kSide}, 0.01);
  graph.output(apply1("quantized_matmul", {x, w, Value(scales), bias}, attrs), "y");
  std::vector<Tensor> inputs = {Tensor::full({kSide, kSide}, 3, DType::uint8),
                                Tensor::full({kSide, kSide}, 2, DType::int8),
                                Tensor::zeros({kSide}, DType::int32)};
  return timed(*engine.compile(graph, {}), inputs);
}

Kernels bfloat16_product(Backend& engine) {
  Graph graph;
  TensorSpec spec{DType::bfloat16, {kSide, kSide}};
  Value a = graph.input("a", spec), b = graph.input("b", spec);
  graph.output(apply1("matmul", {a, b}, {{"transpose_b", true}}), "y");
  Tensor ones = Tensor::full({kSide, kSide}, 1, DType::bfloat16);
  return timed(*engine.compile(graph, {}), {ones, ones});
}

void add_products(Report& report, const Arguments& arguments) {
  Backend& engine = backend(arguments.device);
  Kernels wide = bfloat16_product(engine), narrow = int8_product(engine);
  auto add = [&](const char* name, double int8, double bfloat16, std::optional<double> bar) {
    report.add({.name = name,
                .value = bfloat16 / int8,
                .unit = "x",
                .bar = bar,
                .note = fmt::format("bfloat16 {:.3f} ms, int8 {:.3f} ms", bfloat16, int8)});
  };
  add("int8 product of 4096^3 against bfloat16", narrow.product, wide.product, 1.5);
  add("the same with codes made signed, scaled and stored", narrow.all, wide.all, {});
}

int run(const Arguments& arguments) {
  Report report;
  default_context().device = arguments.device;
  if (arguments.device == "cpu")
    add_networks(report, arguments);
  else
    add_products(report, arguments);
  finish(report, arguments);
  return report.all_met() ? 0 : 1;
}

}  // namespace

}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_int8", argc, argv, stoker::bench::run);
}
