#include "observe/machine_peaks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

#include <stoker/ops.h>
#include <stoker/optimizers.h>
#include <stoker/random.h>

#include "base/clock.h"
#include "base/cores.h"
#include "observe/page_locked.h"
#include "train/step/program_cache.h"

namespace stoker {

namespace {

constexpr int kRepeats = 5, kLeastRepeats = 2;
constexpr double kEnoughNs = 100e6;
constexpr double kUsualCache = double(32 << 20);
// A virtual machine of a few cores shows the last cache of its whole host, of which others have their
// share, and tensors twice as large take seconds to be made.
constexpr double kMostOfACore = double(32 << 20);
constexpr double kFarBeyond = 2;    // times the cache: what a tensor has to be to come from memory
constexpr double kSameLevel = 0.5;  // doublings that a level may be away from what it stands for
constexpr int64_t kWarmUpNs = 300'000'000;
constexpr int64_t kDrawn = 1'000'003;  // random numbers, again and again: no power of two
constexpr int64_t kLinkBytes = 64 << 20;
constexpr int kLinkRuns = 4;

class PeakMeter {
 public:
  explicit PeakMeter(const Context& context)
      : engine_(engine_of(context)),
        gpu_(engine_.traits().beside_host),
        dtype_(compute_dtype_of(context)),
        options_(compile_options(context)) {
    options_.status_lag = 0;
  }

  MachinePeaks measure() {
    MachinePeaks peaks;
    auto cache = double(engine_.cache_bytes());
    peaks.cache_size = cache > 0 ? cache : kUsualCache;
    if (!gpu_) peaks.cache_size = std::min(peaks.cache_size, kMostOfACore * available_cores());
    peaks.flops = best_flops();
    peaks.memory = rates(kFarBeyond * peaks.cache_size);
    peaks.cache = peaks.memory;
    // A tensor is read and written, and a core's own cache is nearer than the shared one.
    for (double part : {0.25, 0.0625, 0.008}) {
      peaks.cache = best_of(peaks.cache, rates(part * peaks.cache_size));
      peaks.levels.push_back({.size = part * peaks.cache_size, .rates = peaks.cache});
    }
    if (gpu_) peaks.link_bytes = link_rate();
    return peaks;
  }

  // No slower than the memory: what a disturbed measurement says is no limit.
  MachinePeaks::Level level(double size, const MemoryRates& memory) const {
    return {.size = size, .rates = best_of(memory, rates(size))};
  }

 private:
  // Operands lie on the device, so that nothing is copied. Numbers as training has them: zeros need
  // less power, and a GPU at its power limit multiplies them faster than anything else.
  Value operand(Graph& graph, const std::vector<int64_t>& shape) const {
    Tensor values(DType::float32, Shape(shape));
    Rng rng(1);
    for (int64_t i = 0; i < std::min(values.elements(), kDrawn); ++i)
      values.data_mut<float>()[i] = rng.normal();
    for (int64_t i = kDrawn; i < values.elements(); i += kDrawn)
      std::copy_n(values.data<float>(), std::min(kDrawn, values.elements() - i),
                  values.data_mut<float>() + i);
    return ops::cast(graph.variable(Variable("operand", values)), dtype_);
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
      best = std::max(best, rate_of(graph, &Cost::flops));
    }
    if (gpu_) return best;
    Graph graph;
    Value x = operand(graph, {8, 32, 32, 64}), kernel = operand(graph, {3, 3, 64, 64});
    keep(graph, ops::conv2d(x, kernel, {.padding = {1, 1, 1, 1}}));
    return std::max(best, rate_of(graph, &Cost::flops));
  }

  static void keep(Graph& graph, const Value& value) {
    graph.output(ops::sum(ops::cast(value, DType::float32)), "y");
  }

  // FLOPs or bytes per second of the kernel that has most of them: copies that an engine makes around
  // it are not told in its costs.
  double rate_of(Graph& graph, double Cost::*what) const {
    auto program = engine_.compile(graph, options_);
    const std::vector<KernelInfo>& kernels = program->kernels();
    auto most = std::ranges::max_element(
        kernels, {}, [what](const KernelInfo& kernel) { return kernel.cost.*what; });
    auto index = size_t(most - kernels.begin());
    std::vector<int64_t> nanoseconds;
    auto run = [&] {
      program->run_timed({}, nanoseconds);
      return double(nanoseconds[index]);
    };
    run();
    // A GPU computes faster until it is warm: what counts is what it can go on with.
    int64_t begin = steady_clock().now();
    while (gpu_ && what == &Cost::flops && steady_clock().now() - begin < kWarmUpNs) run();
    // Tensors far larger than a cache of hundreds of megabytes take a while: two runs tell as much.
    double best = 1e18, taken = 0;
    for (int i = 0; i < kRepeats && (i < kLeastRepeats || taken < kEnoughNs); ++i) {
      double ns = run();
      taken += ns;
      best = std::min(best, ns);
    }
    return most->cost.*what / best * 1e9;
  }

  static MemoryRates best_of(const MemoryRates& a, const MemoryRates& b) {
    return {.read = std::max(a.read, b.read),
            .copy = std::max(a.copy, b.copy),
            .fill = std::max(a.fill, b.fill),
            .update = std::max(a.update, b.update)};
  }

  // Of tensors of so many bytes, those of an op together.
  MemoryRates rates(double size) const {
    auto side = int64_t(std::sqrt(size / sizeof(float)));
    Variable values("values", Tensor::zeros({side, side})), number("number", Tensor::zeros({1}));
    Variable half("half", Tensor::zeros({std::max<int64_t>(side / 2, 1), side}));
    Variable column("column", Tensor::zeros({side, 1})), row("row", Tensor::zeros({1, side}));
    MemoryRates best;
    best.read =
        moving([&](Graph& graph) { graph.output(ops::sum(graph.variable(values)), "sum"); });
    best.copy =
        moving([&](Graph& graph) { graph.output(ops::relu(graph.variable(half)), "copy"); });
    // Which of the two engines do faster is their affair.
    best.fill = std::max(
        moving([&](Graph& graph) {
          graph.output(ops::broadcast_to(graph.variable(number), {side, side}), "fill");
        }),
        moving([&](Graph& graph) {
          graph.output(ops::matmul(graph.variable(column), graph.variable(row)), "product");
        }));
    best.update = update_rate(size);
    // A GPU's memory is not slower where less is written: where a sum is, that is its kernel's.
    if (gpu_) best.read = best.best(), best.fill = std::max(best.fill, best.copy);
    return best;
  }

  double update_rate(double size) const {
    Shape shape = {std::max<int64_t>(int64_t(size / sizeof(float) / 3), 1)};
    Variable weights("weights", Tensor::zeros(shape)), gradients("gradients", Tensor::zeros(shape));
    Optimizer optimizer = SGD({.momentum = 0.9});
    optimizer.build({weights});
    return moving([&](Graph& graph) { optimizer.apply({graph.variable(gradients)}, {weights}); });
  }

  // Bytes a second of the kernel that moves most.
  template <class Trace>
  double moving(const Trace& trace) const {
    Graph graph;
    trace(graph);
    return rate_of(graph, &Cost::bytes);
  }

  // Copies of page-locked memory, several in a row.
  double link_rate() const {
    std::vector<Tensor> inputs = {
        copy_into(engine_.host_memory(), Tensor::zeros({kLinkBytes / sizeof(float)}))};
    Graph graph;
    graph.output(ops::sum(graph.input("x", {DType::float32, inputs[0].shape()})), "sum");
    auto program = engine_.compile(graph, options_);
    double best = 1e18;
    for (int i = 0; i <= kRepeats; ++i) {
      int64_t before = steady_clock().now();
      for (int run = 0; run < kLinkRuns; ++run) program->run(inputs);
      program->status();
      if (i > 0) best = std::min(best, double(steady_clock().now() - before));
    }
    return double(kLinkBytes * kLinkRuns) / best * 1e9;
  }

  Backend& engine_;
  bool gpu_;
  DType dtype_;
  CompileOptions options_;
};

struct KnownPeaks {
  using Key = std::tuple<const Backend*, int, DType, bool>;
  std::mutex mutex;
  std::map<Key, MachinePeaks> peaks;

  MachinePeaks& of(const Context& context) {
    Key key(&engine_of(context), compile_options(context).threads, compute_dtype_of(context),
            uses_tf32(context));
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
  return seconds > 0 && flops > 0 ? done / seconds / flops : 0;
}

double MemoryRates::of(const Moved& moved) const {
  if (moved.in_place) return update;
  double written = moved.bytes > 0 ? std::min(1.0, moved.written / moved.bytes) : 0;
  double even = 1 - std::abs(2 * written - 1);  // 1: half of the bytes are written
  double rest = written < 0.5 ? read : fill;
  return copy > 0 && rest > 0 ? 1 / (even / copy + (1 - even) / rest) : 0;
}

namespace {

// How many doublings two sizes are apart.
double doublings(double a, double b) { return std::abs(std::log2(std::max(a, 1.0) / b)); }

double seconds_at(const MemoryRates& rates, std::span<const Moved> ops) {
  double seconds = 0;
  for (const Moved& moved : ops)
    if (rates.of(moved) > 0) seconds += moved.bytes / rates.of(moved);
  return seconds;
}

}  // namespace

const MemoryRates& MachinePeaks::rates_of(double held) const {
  double beyond = kFarBeyond * cache_size;
  if (held >= beyond || (levels.empty() && held > cache_size)) return memory;
  if (levels.empty()) return cache;
  auto nearest = std::ranges::min_element(
      levels, {}, [held](const Level& each) { return doublings(held, each.size); });
  return doublings(held, beyond) < doublings(held, nearest->size) ? memory : nearest->rates;
}

bool MachinePeaks::knows(double held) const {
  auto near = [held](const Level& each) { return doublings(held, each.size) <= kSameLevel; };
  return held >= kFarBeyond * cache_size || levels.empty() || held <= levels.back().size ||
         std::ranges::any_of(levels, near);
}

double MachinePeaks::seconds_of(std::span<const Moved> ops, double held) const {
  return seconds_at(rates_of(held), ops);
}

double MachinePeaks::bandwidth_share(std::span<const Moved> ops, double seconds,
                                     double held) const {
  if (seconds <= 0) return 0;
  double of_level = seconds_of(ops, held), of_cache = seconds_at(cache, ops);
  if (of_level <= 0) return of_cache / seconds;
  return std::max(of_cache / seconds, std::min(of_level / seconds, seconds / of_level));
}

const MachinePeaks& machine_peaks(const Context& context) {
  std::lock_guard lock(known().mutex);
  return known().of(context);
}

MachinePeaks machine_peaks(const Context& context, double held) {
  std::lock_guard lock(known().mutex);
  MachinePeaks& peaks = known().of(context);
  if (!peaks.knows(held)) {
    peaks.levels.push_back(PeakMeter(context).level(held, peaks.memory));
    std::ranges::sort(peaks.levels, std::greater<>(), &MachinePeaks::Level::size);
  }
  return peaks;
}

void raise_peak(const Context& context, double flops) {
  std::lock_guard lock(known().mutex);
  MachinePeaks& peaks = known().of(context);
  peaks.flops = std::max(peaks.flops, flops);
}

}  // namespace stoker
