#include "common/limits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "observe/machine_peaks.h"
#include "train/step/program_cache.h"

namespace stoker::bench {

namespace {

constexpr int64_t kTensorCoreChannels = 8;

bool is_convolution(std::string_view op) { return op.starts_with("conv2d"); }

// Input channels per group; of a weight gradient from its result [kh, kw, C / groups, filters].
int64_t group_channels(const Graph& graph, const Node& node) {
  int kernel = node.is("conv2d_weight_grad") ? node.outputs[0] : node.inputs[1];
  return graph.spec(kernel).shape[2];
}

// The convolution that a kernel runs: a layer may have several, which differ in their work.
const Node* convolution_of(const Graph& graph, const KernelInfo& kernel) {
  const Node* nearest = nullptr;
  double least = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != kernel.op || node.scope != kernel.scope) continue;
    double apart = std::abs(graph.cost(node).flops - kernel.cost.flops);
    if (nearest == nullptr || apart < least) nearest = &node, least = apart;
  }
  return nearest;
}

bool is_narrow(const Graph& graph, const KernelInfo& kernel) {
  const Node* node = convolution_of(graph, kernel);
  return node != nullptr && node->attrs.get_or<int64_t>("groups", 1) > 1 &&
         group_channels(graph, *node) < kTensorCoreChannels;
}

bool is_product(const Graph& graph, const KernelInfo& kernel) {
  if (kernel.op.starts_with("matmul") || kernel.op.starts_with("attention")) return true;
  return is_convolution(kernel.op) && !is_narrow(graph, kernel);
}

bool is_added(const KernelInfo& kernel) {
  static constexpr auto kOps = std::to_array<std::string_view>(
      {"reorder", "copy", "patches", "epilogue", "bias_grad", "assign"});
  return kernel.kernel == "own:frame" || std::ranges::find(kOps, kernel.op) != kOps.end();
}

}  // namespace

DeviceLimits limits_of(const Context& context) {
  if (engine_of(context).traits().beside_host) return {};
  const MachinePeaks& peaks = machine_peaks(context);
  return {.products = peaks.flops, .others = peaks.flops, .bytes = peaks.memory.copy};
}

double KernelNeeds::floor(const DeviceLimits& limits) const {
  return std::max({products / limits.products, others / limits.others, bytes / limits.bytes});
}

std::vector<KernelNeeds> needs_of(const Program& program, const Graph& graph) {
  std::vector<KernelNeeds> needs;
  for (const KernelInfo& kernel : program.kernels()) {
    KernelNeeds& each = needs.emplace_back();
    if (is_added(kernel)) continue;
    each.bytes = kernel.cost.bytes;
    (is_product(graph, kernel) ? each.products : each.others) = kernel.cost.flops;
  }
  return needs;
}

std::vector<double> floors_of(const Program& program, const Graph& graph,
                              const DeviceLimits& limits) {
  std::vector<double> floors;
  for (const KernelNeeds& each : needs_of(program, graph)) floors.push_back(each.floor(limits));
  return floors;
}

}  // namespace stoker::bench
