#include "engine/guard_sees.h"

#include <algorithm>

namespace stoker {

namespace {

int before_reshapes(const Graph& graph, int value) {
  const Node* node = graph.producer(value);
  for (; node != nullptr && node->traits().shares_bytes; node = graph.producer(value))
    value = node->inputs[0];
  return value;
}

bool is_weight_gradient(const Node& node) {
  return node.phase == Phase::backward &&
         (node.traits().weight_gradient || node.attrs.get_or("transpose_a", false));  // matmul's
}

}  // namespace

bool guard_sees(const Graph& graph, const Node& product) {
  if (graph.guard() < 0) return false;
  int x = before_reshapes(graph, product.inputs[0]);
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return is_weight_gradient(node) && before_reshapes(graph, node.inputs[0]) == x;
  });
}

}  // namespace stoker
