#include "common/limits.h"

#include <algorithm>
#include <set>
#include <utility>

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

using Place = std::pair<std::string, std::string>;  // op, layer

std::set<Place> narrow_convolutions(const Graph& graph) {
  std::set<Place> places;
  for (const Node& node : graph.nodes())
    if (is_convolution(node.op->name) && node.attrs.get_or<int64_t>("groups", 1) > 1 &&
        group_channels(graph, node) < kTensorCoreChannels)
      places.insert({node.op->name, node.scope});
  return places;
}

}  // namespace

DeviceLimits limits_of(const Context& context) {
  if (engine_of(context).traits().beside_host) return {};
  const MachinePeaks& peaks = machine_peaks(context);
  return {.products = peaks.flops, .others = peaks.flops, .bytes = peaks.memory.copy};
}

std::vector<double> floors_of(const Program& program, const Graph& graph,
                              const DeviceLimits& limits) {
  std::set<Place> narrow = narrow_convolutions(graph);
  std::vector<double> floors;
  for (const KernelInfo& kernel : program.kernels()) {
    bool product = kernel.op.starts_with("matmul") ||
                   (is_convolution(kernel.op) && !narrow.contains({kernel.op, kernel.scope}));
    floors.push_back(std::max(kernel.cost.flops / (product ? limits.products : limits.others),
                              kernel.cost.bytes / limits.bytes));
  }
  return floors;
}

}  // namespace stoker::bench
