#include "observe/machine_peaks.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include <stoker/ops.h>

#include "base/clock.h"
#include "train/program_cache.h"

namespace stoker {

namespace {

constexpr int kRepeats = 5;

// The best of some runs, seconds; `runs` at a time where a device works beside the host.
double best_seconds(Program& program, std::span<const Tensor> inputs, int runs) {
  program.run(inputs);
  program.status();
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    int64_t before = steady_clock().now();
    for (int run = 0; run < runs; ++run) program.run(inputs);
    program.status();
    best = std::min(best, double(steady_clock().now() - before) * 1e-9 / runs);
  }
  return best;
}

MachinePeaks measure(const Context& context) {
  Backend& engine = engine_of(context);
  bool gpu = engine.name() == "cuda";
  CompileOptions options = compile_options(context);
  options.status_lag = 0;
  int64_t side = gpu ? 4096 : 768, elements = gpu ? int64_t(1) << 26 : int64_t(1) << 24;
  MachinePeaks peaks;
  {
    // Operands are made on the device, so that nothing is copied.
    Graph graph;
    DType dtype = compute_dtype_of(context);
    Variable left("left", Tensor::zeros({side, side})), right("right", Tensor::zeros({side, side}));
    Value a = ops::cast(graph.variable(left), dtype), b = ops::cast(graph.variable(right), dtype);
    graph.output(ops::sum(ops::cast(ops::matmul(a, b), DType::float32)), "y");
    auto program = engine.compile(graph, options);
    peaks.flops =
        2.0 * double(side) * double(side) * double(side) / best_seconds(*program, {}, gpu ? 4 : 1);
  }
  {
    Graph graph;
    Variable values("values", Tensor::zeros({elements}));
    Value x = graph.variable(values);
    graph.assign(values, ops::relu(x));
    auto program = engine.compile(graph, options);
    double bytes = 0;
    for (const KernelInfo& kernel : program->kernels()) bytes += kernel.cost.bytes;
    peaks.bytes = bytes / best_seconds(*program, {}, gpu ? 4 : 1);
  }
  return peaks;
}

}  // namespace

const MachinePeaks& machine_peaks(const Context& context) {
  using Key = std::tuple<std::string, int, DType, bool>;
  static std::mutex mutex;
  static std::map<Key, MachinePeaks> known;
  std::lock_guard lock(mutex);
  Key key(context.device, compile_options(context).threads, compute_dtype_of(context),
          context.tf32);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, measure(context)).first;
  return found->second;
}

}  // namespace stoker
