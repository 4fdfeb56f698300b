#include "observe/machine_peaks.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <tuple>

#include <stoker/ops.h>

#include "base/clock.h"
#include "train/program_cache.h"

namespace stoker {

namespace {

constexpr int kRepeats = 5;
constexpr double kUsualCache = double(32 << 20);
constexpr double kFarBeyond = 4;  // times the cache: what a tensor has to be to come from memory

class PeakMeter {
 public:
  explicit PeakMeter(const Context& context)
      : engine_(engine_of(context)),
        gpu_(engine_.name() == "cuda"),
        dtype_(compute_dtype_of(context)),
        options_(compile_options(context)) {
    options_.status_lag = 0;
  }

  MachinePeaks measure() {
    MachinePeaks peaks;
    auto cache = double(engine_.cache_bytes());
    peaks.cache_size = cache > 0 ? cache : kUsualCache;
    peaks.flops = best_flops();
    peaks.bytes = bandwidth(kFarBeyond * peaks.cache_size);
    // A tensor is read and written, and a core's own cache is nearer than the shared one.
    for (double part : {0.25, 0.0625, 0.008})
      peaks.cache_bytes = std::max(peaks.cache_bytes, bandwidth(part * peaks.cache_size));
    peaks.cache_bytes = std::max(peaks.cache_bytes, peaks.bytes);
    return peaks;
  }

 private:
  // The best of some runs, seconds; several at a time where a device works beside the host.
  double best_seconds(Program& program, int runs) const {
    program.run({});
    program.status();
    double best = 1e9;
    for (int i = 0; i < kRepeats; ++i) {
      int64_t before = steady_clock().now();
      for (int run = 0; run < runs; ++run) program.run({});
      program.status();
      best = std::min(best, double(steady_clock().now() - before) * 1e-9 / runs);
    }
    return best;
  }

  // Operands are made on the device, so that nothing is copied.
  Value operand(Graph& graph, const std::vector<int64_t>& shape) const {
    Variable variable("operand", Tensor::zeros(Shape(shape)));
    return ops::cast(graph.variable(variable), dtype_);
  }

  // Engines reach their best at different sizes and in different directions of a product, and
  // convolutions may be faster than any of them.
  double best_flops() const {
    auto side = int64_t(gpu_ ? 8192 : 720);
    double best = 0;
    for (bool transposed : {false, true}) {
      Graph graph;
      Value a = operand(graph, {side, side}), b = operand(graph, {side, side});
      keep(graph, ops::matmul(a, b, {.transpose_a = transposed}));
      best = std::max(best, rate_of(graph));
    }
    if (gpu_) return best;
    Graph graph;
    Value x = operand(graph, {8, 32, 32, 64}), kernel = operand(graph, {3, 3, 64, 64});
    keep(graph, ops::conv2d(x, kernel, {.padding = {1, 1, 1, 1}}));
    return std::max(best, rate_of(graph));
  }

  static void keep(Graph& graph, const Value& value) {
    graph.output(ops::sum(ops::cast(value, DType::float32)), "y");
  }

  // FLOPs a second of the kernel that has most of them.
  double rate_of(Graph& graph) const {
    auto program = engine_.compile(graph, options_);
    const std::vector<KernelInfo>& kernels = program->kernels();
    auto product = std::ranges::max_element(
        kernels, {}, [](const KernelInfo& kernel) { return kernel.cost.flops; });
    auto index = size_t(product - kernels.begin());
    std::vector<int64_t> nanoseconds;
    double best = 1e18;
    for (int i = 0; i <= kRepeats; ++i) {
      program->run_timed({}, nanoseconds);
      if (i > 0) best = std::min(best, double(nanoseconds[index]));
    }
    return product->cost.flops / best * 1e9;
  }

  // Bytes read and written a second, of a tensor of so many bytes.
  double bandwidth(double size) const {
    Graph graph;
    Variable values("values", Tensor::zeros({std::max<int64_t>(int64_t(size / sizeof(float)), 1)}));
    graph.assign(values, ops::relu(graph.variable(values)));
    auto program = engine_.compile(graph, options_);
    double bytes = 0;
    for (const KernelInfo& kernel : program->kernels()) bytes += kernel.cost.bytes;
    int runs = int(std::clamp(double(4 << 20) / size, gpu_ ? 4.0 : 1.0, 50.0));
    return bytes / best_seconds(*program, runs);
  }

  Backend& engine_;
  bool gpu_;
  DType dtype_;
  CompileOptions options_;
};

struct KnownPeaks {
  using Key = std::tuple<std::string, int, DType, bool>;
  std::mutex mutex;
  std::map<Key, MachinePeaks> peaks;

  MachinePeaks& of(const Context& context) {
    Key key(context.device, compile_options(context).threads, compute_dtype_of(context),
            context.tf32);
    auto found = peaks.find(key);
    if (found == peaks.end()) found = peaks.emplace(key, PeakMeter(context).measure()).first;
    return found->second;
  }
};

KnownPeaks& known() {
  static KnownPeaks known;
  return known;
}

}  // namespace

double MachinePeaks::compute_share(double done, double seconds) const {
  return seconds > 0 && flops > 0 ? std::min(1.0, done / seconds / flops) : 0;
}

double MachinePeaks::bandwidth_share(double moved, double seconds, double held) const {
  if (seconds <= 0 || bytes <= 0) return 0;
  double rate = moved / seconds;
  bool cached = held <= cache_size || rate > bytes;
  return std::min(1.0, rate / (cached ? cache_bytes : bytes));
}

const MachinePeaks& machine_peaks(const Context& context) {
  std::lock_guard lock(known().mutex);
  return known().of(context);
}

void raise_peak(const Context& context, double flops) {
  std::lock_guard lock(known().mutex);
  MachinePeaks& peaks = known().of(context);
  peaks.flops = std::max(peaks.flops, flops);
}

}  // namespace stoker
