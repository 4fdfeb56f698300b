#include "compress/step_prediction.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"

namespace stoker::compress {

namespace {

constexpr int64_t kFewestSteps = 8, kMostSteps = 40, kTimedNanoseconds = 1'000'000'000;
constexpr double kComputes = 4;  // FLOPs per byte: an op that does more computes, others move data
constexpr int64_t kChannelsAtOnce = 16;

// By how much vectors that are not full raise the work along so many channels.
double vector_padding(int64_t channels) {
  int64_t whole = (channels + kChannelsAtOnce - 1) / kChannelsAtOnce * kChannelsAtOnce;
  return channels < kChannelsAtOnce ? 1 : double(whole) / double(channels);
}

// The kernel [kh, kw, C / groups, filters] of a convolution; null: the node is none.
const Shape* kernel_shape(const Graph& graph, const Node& node) {
  bool weights_made = node.is("conv2d_weight_grad");
  bool convolution = weights_made || node.is("conv2d") || node.is("conv2d_input_grad");
  if (!convolution || node.attrs.get_or<int64_t>("groups", 1) != 1) return nullptr;
  return &graph.spec(weights_made ? node.outputs[0] : node.inputs[1]).shape;
}

// The same of each convolution of a graph.
std::map<doctor::OpKey, double> padding_of(const Graph& graph) {
  std::map<doctor::OpKey, double> all;
  for (const Node& node : graph.nodes())
    if (const Shape* kernel = kernel_shape(graph, node))
      all[{node.scope, node.op->name, node.phase}] =
          vector_padding((*kernel)[2]) * vector_padding((*kernel)[3]);
  return all;
}

// What the timed step reaches: of ops that compute in FLOPs, of others in bytes per second. Where it
// has none of a kind, that kind costs nothing.
struct Rates {
  double flops = std::numeric_limits<double>::infinity(), bytes = flops;
  double begin = 0;  // of a kernel: no op takes less

  explicit Rates(const StepWork& timed) {
    OpWork computes, moves;
    for (const auto& [key, op] : timed) {
      if (op.seconds <= 0) continue;
      double each = op.seconds / double(std::max<int64_t>(op.kernels, 1));
      begin = begin == 0 ? each : std::min(begin, each);
      OpWork& sum = op.flops > kComputes * op.bytes ? computes : moves;
      sum.flops += op.flops, sum.bytes += op.bytes;
      if (op.flops + op.bytes > 0) sum.seconds += op.seconds;
    }
    if (computes.seconds > 0 && computes.flops > 0) flops = computes.flops / computes.seconds;
    if (moves.seconds > 0 && moves.bytes > 0) bytes = moves.bytes / moves.seconds;
  }

  double cost(const OpWork& op) const { return op.flops / flops + op.bytes / bytes; }
  double start(const OpWork& op) const { return begin * double(op.kernels); }
};

}  // namespace

StepWork work_of(const CachedProgram& step) {
  StepWork all;
  for (const KernelInfo& kernel : step.program->kernels()) {
    OpWork& op = all[{kernel.scope, kernel.op, kernel.phase}];
    op.flops += kernel.cost.flops;
    // The engine's own copies have no cost in the graph: they write what they hold.
    op.bytes += kernel.cost.bytes > 0 ? kernel.cost.bytes : 2 * double(kernel.memory);
    ++op.kernels;
  }
  for (const auto& [key, factor] : padding_of(*step.graph))
    if (auto found = all.find(key); found != all.end()) found->second.flops *= factor;
  return all;
}

void time_ops(CachedProgram& step, std::span<const Tensor> batch, StepWork& work) {
  const std::vector<KernelInfo>& kernels = step.program->kernels();
  std::vector<int64_t> shortest(kernels.size(), std::numeric_limits<int64_t>::max()), now;
  int64_t begin = steady_clock().now();
  for (int64_t i = 0; i < kMostSteps; ++i) {
    if (i >= kFewestSteps && steady_clock().now() - begin > kTimedNanoseconds) break;
    step.program->run_timed(batch, now);
    for (size_t k = 0; k < kernels.size(); ++k) shortest[k] = std::min(shortest[k], now[k]);
  }
  for (auto& [key, op] : work) op.seconds = 0;
  for (size_t k = 0; k < kernels.size(); ++k)
    work[{kernels[k].scope, kernels[k].op, kernels[k].phase}].seconds += double(shortest[k]) * 1e-9;
}

double total_seconds(const StepWork& timed) {
  double sum = 0;
  for (const auto& [key, op] : timed) sum += op.seconds;
  return sum;
}

double predicted_seconds(const StepWork& timed, const StepWork& other) {
  const Rates rates(timed);
  double sum = 0;
  for (const auto& [key, op] : other) {
    auto found = timed.find(key);
    double before = found == timed.end() ? 0 : rates.cost(found->second);
    if (before <= 0) {
      sum += rates.start(op) + rates.cost(op);
      continue;
    }
    double work = std::max(found->second.seconds - rates.start(found->second), 0.0);
    sum += rates.start(op) + work * rates.cost(op) / before;
  }
  return sum;
}

}  // namespace stoker::compress
