// Reverse-mode differentiation: one sweep over the nodes [first, last) of a graph, from the last
// back, emitting the gradient rules' nodes behind them. Linear in the number of nodes.
#pragma once

#include <span>
#include <unordered_map>

#include "graph/graph.h"
#include "graph/own_gradients.h"
#include "graph/remat.h"
#include "graph/slice_gradients.h"

namespace stoker {

class ReverseSweep {
 public:
  // wrt: values to differentiate by.
  ReverseSweep(Graph& graph, size_t first, std::span<const int> wrt);

  void seed(const Value& output, const Value& gradient);
  void run();
  Value gradient(int value);  // undefined where none arrived
  // Whether a value is a float that depends on one of wrt along a path that carries gradients.
  bool depends(int value) const { return depends_[size_t(value)]; }

 private:
  void visit(Node node);
  void visit_own(const Node& node, OwnGradient own);
  Values call_rule(const Node& node, const std::vector<bool>& needed,
                   const Values& output_gradients);
  void accumulate(const Node& node, int value, const Value& gradient);
  void flush(int value);
  Values values(const Node& node, const std::vector<int>& ids);
  DType dtype_of(const Node& node) const;

  Graph& graph_;
  size_t first_, last_;
  const OwnGradients& own_;
  std::vector<bool> depends_;  // by value
  Values gradients_;           // by value: d(loss)/d(value) as far as it is known
  std::unordered_map<int, SliceGradients> slices_;  // by value that was sliced: not added yet
  Recomputed recomputed_;
};

// By value: whether it is one of wrt, or a float that depends on one along a path that carries
// gradients: not through stop_gradient, integers or bools.
std::vector<bool> differentiable_from(const Graph& graph, size_t first, std::span<const int> wrt,
                                      const OwnGradients& own = {});

// "matmul \"dense_1\"": for errors.
std::string describe(const Node& node);

}  // namespace stoker
