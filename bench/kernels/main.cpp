// bench_kernels: every op on its own, forwards and backwards, at large, middle and odd sizes, as a
// share of what the device allows; the worst first.
//   bench_kernels [--device cuda|cpu] [common options]
// Times are the device's, kernel by kernel, so that the host has no part in them. A row counts the
// bytes that the op has to move (operands once, results once): a pass more than needed lowers its
// rate. The limit is the slower of those bytes and its FLOPs.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/limits.h"
#include "common/options.h"
#include "common/timing.h"
#include "graph/passes/passes.h"
#include "graph/reverse_sweep.h"
#include "kernels/cases.h"
#include "train/step/program_cache.h"

namespace stoker::bench {
namespace {

struct Arguments : Options {
  std::string device = "auto";
  std::vector<Flag> flags() { return with(Options::flags(), {{"--device", &device}}); }
};

// Random, but quickly made.
Tensor numbers(const Shape& shape, DType dtype) {
  constexpr int64_t kDrawn = 1'000'003;
  static std::map<std::pair<std::string, DType>, Tensor> made;  // programs copy them
  Tensor& kept = made[{to_string(shape), dtype}];
  if (kept.defined()) return kept;
  if (made.size() > 12) {
    made.clear();
    return numbers(shape, dtype);
  }
  Tensor tensor(DType::float32, shape);
  float* data = tensor.data_mut<float>();
  Rng rng(1);
  for (int64_t i = 0; i < std::min(tensor.elements(), kDrawn); ++i) data[i] = rng.uniform(-1, 1);
  for (int64_t i = kDrawn; i < tensor.elements(); i += kDrawn)
    std::copy_n(data, std::min(kDrawn, tensor.elements() - i), data + i);
  return kept = dtype == DType::float32 ? tensor : tensor.cast(dtype);
}

Tensor ids(const Shape& shape, int64_t limit) {
  Tensor tensor(DType::int32, shape);
  Rng rng(2);
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.data_mut<int32_t>()[i] = int32_t(rng() % uint32_t(limit));
  return tensor;
}

Value operand(Graph& graph, const Operand& wanted, DType dtype) {
  Tensor values = wanted.ids > 0 ? ids(wanted.shape, wanted.ids)
                                 : numbers(wanted.shape, wanted.wide ? DType::float32 : dtype);
  return graph.variable(Variable("operand", values, {.trainable = false}));
}

void add_gradients(Graph& graph, const KernelCase& each, const Values& operands, const Value& y) {
  std::vector<int> wrt;
  for (size_t i = 0; i < operands.size(); ++i)
    if (each.operands[i].ids == 0 && each.operands[i].gradient)
      wrt.push_back(operands[i].traced()->id);
  Tensor dy = numbers(y.shape(), y.dtype());
  Value seed = graph.variable(Variable("dy", dy, {.trainable = false}));
  Graph::Scope scope(graph, Phase::backward);
  ReverseSweep sweep(graph, 0, wrt);
  sweep.seed(y, seed);
  sweep.run();
  for (int value : wrt) graph.output(sweep.gradient(value), fmt::format("gradient {}", value));
}

// Bytes that the nodes of a phase have to move: what comes from outside of it, and what is kept.
double bytes_of(const Graph& graph, Phase phase) {
  std::set<int> inside, counted;
  double bytes = 0;
  auto count = [&](int value) {
    if (counted.insert(value).second)
      bytes +=
          double(graph.spec(value).shape.elements()) * double(size_of(graph.spec(value).dtype));
  };
  for (const Node& node : graph.nodes())
    if (node.phase == phase) inside.insert(node.outputs.begin(), node.outputs.end());
  for (const Node& node : graph.nodes()) {
    if (node.phase != phase) continue;
    if (node.is("gather")) {  // the rows that are looked up, not the table
      bytes += double(graph.spec(node.outputs[0]).shape.elements()) *
               double(size_of(graph.spec(node.outputs[0]).dtype));
      count(node.inputs[1]);
      continue;
    }
    for (int value : node.inputs)
      if (!inside.contains(value)) count(value);
  }
  for (const GraphOutput& output : graph.outputs())
    if (inside.contains(output.value)) count(output.value);
  for (const Assignment& assignment : graph.assignments())
    if (inside.contains(assignment.value)) count(assignment.value);
  return bytes;
}

// Seconds, FLOPs and names of the kernels of a phase: the fastest of several runs.
struct Timed {
  double seconds = 1e18;
  KernelNeeds needs;  // bytes aside
  std::string kernels;
};
Timed time_phase(Program& program, const Graph& graph, Phase phase) {
  Timed timed;
  std::vector<int64_t> nanoseconds;
  double begin = now();
  for (int run = 0; run < 12 && (run < 4 || now() - begin < 1.0); ++run) {
    program.run_timed({}, nanoseconds);
    double seconds = 0;
    for (size_t i = 0; i < nanoseconds.size(); ++i)
      if (program.kernels()[i].phase == phase) seconds += double(nanoseconds[i]) * 1e-9;
    timed.seconds = std::min(timed.seconds, seconds);
  }
  std::vector<KernelNeeds> needs = needs_of(program, graph);
  for (size_t i = 0; i < needs.size(); ++i) {
    const KernelInfo& kernel = program.kernels()[i];
    if (kernel.phase != phase) continue;
    timed.needs.products += needs[i].products;
    timed.needs.others += needs[i].others;
    timed.kernels += (timed.kernels.empty() ? "" : " + ") + kernel.kernel;
  }
  return timed;
}

struct Setting {
  const Context& context;
  DType dtype;
  DeviceLimits limits;
};

void add_row(const std::string& name, Graph& graph, Program& program, Phase phase,
             const Setting& setting, Report& report) {
  Timed timed = time_phase(program, graph, phase);
  double bytes = timed.needs.bytes = bytes_of(graph, phase);
  if (timed.kernels.empty() || timed.seconds <= 0) return;  // nothing to do: an alias
  report.add(
      {.name = name,
       .value = 100 * timed.needs.floor(setting.limits) / timed.seconds,
       .unit = "%",
       .note = fmt::format("{:.0f} GB/s, {:.1f} TFLOP/s, {:.1f} MB in {:.1f} us: {}",
                           bytes / timed.seconds * 1e-9,
                           (timed.needs.products + timed.needs.others) / timed.seconds * 1e-12,
                           bytes * 1e-6, timed.seconds * 1e6, timed.kernels)});
}

std::unique_ptr<Program> compiled(Graph& graph, const Context& context) {
  Backend& engine = engine_of(context);
  passes::use_fused_forms(
      graph, [&](std::string_view op, DType dtype) { return engine.supports(op, dtype); });
  return engine.compile(graph, compile_options(context));
}

void measure(const KernelCase& each, const std::string& size, bool backward, const Setting& setting,
             Report& report) {
  Graph graph;
  graph.set_training(true);
  graph.set_compute_dtype(setting.dtype);
  Graph::Scope scope(graph, "case");
  Values operands;
  for (const Operand& wanted : each.operands)
    operands.push_back(operand(graph, wanted, setting.dtype));
  Value y = each.forward(operands);
  if (backward)
    add_gradients(graph, each, operands, y);
  else
    graph.output(y, "y");
  auto program = compiled(graph, setting.context);
  add_row(fmt::format("{}{}, {}", each.name, backward ? ", backward" : "", size), graph, *program,
          backward ? Phase::backward : Phase::forward, setting, report);
}

// Updates of one large parameter, and of a network's worth of small ones.
void measure_updates(const Setting& setting, const Extent& extent, Report& report) {
  struct Case {
    std::string name;
    Optimizer optimizer;
  };
  for (const Case& each : {Case{"Adam", Adam()}, Case{"SGD with momentum", SGD({.momentum = 0.9})},
                           Case{"Adam, global_clipnorm", Adam({.global_clipnorm = 1.0})}})
    for (int64_t parts : {1, 200}) {
      int64_t elements = extent.bytes / int64_t(sizeof(float)) / parts;
      Shape shape = {extent.odd ? elements | 1 : elements};
      Graph graph;
      Graph::Scope scope(graph, Phase::update);
      std::vector<Variable> weights;
      Values gradients;
      for (int64_t part = 0; part < parts; ++part) {
        weights.emplace_back("weight", Tensor::zeros(shape));
        gradients.push_back(
            graph.variable(Variable("gradient", Tensor::full(shape, 0.01), {.trainable = false})));
      }
      Optimizer optimizer = each.optimizer.with_config(each.optimizer.config());
      optimizer.build(weights);
      optimizer.apply(gradients, weights);
      auto program = compiled(graph, setting.context);
      add_row(fmt::format("{} of {} parameter{}, {}", each.name, parts, parts == 1 ? "" : "s",
                          extent.name),
              graph, *program, Phase::update, setting, report);
    }
}

std::vector<KernelCase> cases_of(const Extent& extent, DType dtype) {
  Sizes sizes(extent, dtype);
  std::vector<KernelCase> cases;
  add_pointwise(sizes, cases);
  add_moving(sizes, cases);
  add_rows(sizes, cases);
  add_images(sizes, cases);
  add_convolutions(sizes, cases);
  add_products(sizes, cases);
  add_attention(sizes, cases);
  add_orders(sizes, cases);
  return cases;
}

// The worst first.
Report sorted(const Report& report) {
  std::vector<Row> rows = report.rows();
  std::ranges::stable_sort(rows, {}, &Row::value);
  Report result;
  for (Row& row : rows) result.add(std::move(row));
  return result;
}

int run(const Arguments& arguments) {
  std::string policy =
      backend(arguments.device).traits().tensor_cores ? "mixed_bfloat16" : "float32";
  Context context{.seed = 1, .device = arguments.device, .policy = policy, .out = nullptr};
  Setting setting{context, compute_dtype_of(context), limits_of(context)};
  Report report;
  for (const Extent& extent : extents()) {
    for (const KernelCase& each : cases_of(extent, setting.dtype))
      for (bool backward : {false, true})
        if ((!backward || each.backward) && arguments.wants(each.name + ", " + extent.name)) try {
            measure(each, extent.name, backward, setting, report);
            if (!arguments.json.empty()) sorted(report).write_json(arguments.json);
          } catch (const Error& error) {
            std::cout << each.name << ", " << extent.name << ": " << error.what() << std::endl;
          }
    if (arguments.wants("update, " + extent.name)) measure_updates(setting, extent, report);
  }
  finish(sorted(report), arguments);
  return 0;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_kernels", argc, argv, stoker::bench::run);
}
