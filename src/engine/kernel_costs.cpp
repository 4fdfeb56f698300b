#include "engine/kernel_costs.h"

#include <map>

namespace stoker {

namespace {

class KernelFinder {
 public:
  KernelFinder(const Graph& graph, std::span<const int> into, std::span<const KernelWork> kernels)
      : graph_(graph), into_(into) {
    for (int i = 0; i < int(kernels.size()); ++i) {
      const KernelWork& kernel = kernels[size_t(i)];
      if (kernel.is_node) by_node_.emplace(kernel.node, i);
      for (int value : kernel.results) by_result_.emplace(value, i);
      last_of_[kernel.node] = i;
    }
  }

  // -1: there is nothing to do for this node.
  int of(int node) const {
    if (auto found = by_node_.find(node); found != by_node_.end()) return found->second;
    if (int other = into_[size_t(node)]; other >= 0) return of(other);
    for (int value : graph_.nodes()[size_t(node)].outputs)
      if (auto found = by_result_.find(value); found != by_result_.end()) return found->second;
    auto found = last_of_.find(node);
    return found != last_of_.end() ? found->second : -1;
  }

 private:
  const Graph& graph_;
  std::span<const int> into_;
  std::map<int, int> by_node_, by_result_;  // the first kernels
  std::map<int, int> last_of_;              // by node: that was built for it
};

}  // namespace

std::vector<Cost> costs_of(const Graph& graph, std::span<const int> into,
                           std::span<const KernelWork> kernels) {
  KernelFinder kernel(graph, into, kernels);
  std::vector<Cost> costs(kernels.size());
  std::vector<int> nodes(kernels.size());  // how many each does
  for (int i = 0; i < int(graph.nodes().size()); ++i) {
    int doer = kernel.of(i);
    if (doer < 0) continue;
    Cost cost = graph.cost(graph.nodes()[size_t(i)]);
    costs[size_t(doer)].flops += cost.flops;
    costs[size_t(doer)].bytes = cost.bytes;
    ++nodes[size_t(doer)];
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    bool another_part = kernels[i].is_node && nodes[i] == 0;  // its node is counted at the first
    if (nodes[i] != 1) costs[i].bytes = another_part ? 0 : kernels[i].bytes;
  }
  return costs;
}

}  // namespace stoker
