#include <algorithm>
#include <map>

#include "graph/passes/fusion_rules.h"

namespace stoker::passes {

namespace {

bool is_relu_gradient(const Node& node) { return node.is("unary_grad", "relu"); }

// --- relu's gradient ---

bool fuse_pool_gradient_at(Graph& graph, Node& relu_gradient, const std::vector<int>& uses) {
  int y = relu_gradient.inputs[0], dy = relu_gradient.inputs[1];
  const Node* pool = graph.producer(dy);
  if (pool == nullptr || !pool->is("max_pool2d_grad") || pool->inputs[0] != y ||
      uses[size_t(dy)] != 1)
    return false;
  std::vector<int> outputs = relu_gradient.outputs;
  relu_gradient = *pool;
  relu_gradient.attrs.set("activation", std::string("relu"));
  relu_gradient.outputs = std::move(outputs);
  return true;
}

// Whether `y` is what the batch norm behind `gradient` gives, its relu included.
bool is_fused_output(const Graph& graph, int y, const Node& gradient) {
  const Node* norm = graph.producer(y);
  return norm != nullptr && norm->is("batch_norm") && norm->outputs[0] == y &&
         norm->attrs.get_or<std::string>("activation", "") == "relu" &&
         norm->inputs[0] == gradient.inputs[1] && norm->outputs[1] == gradient.inputs[3];
}

bool fuse_norm_gradient_at(Graph& graph, Node& gradient, const std::vector<int>& uses) {
  int dy = gradient.inputs[0];
  const Node* relu_gradient = graph.producer(dy);
  if (relu_gradient == nullptr || !is_relu_gradient(*relu_gradient) || uses[size_t(dy)] != 1)
    return false;
  int y = relu_gradient->inputs[0];
  if (gradient.inputs.size() != 5 || !is_fused_output(graph, y, gradient)) return false;
  gradient.inputs[0] = relu_gradient->inputs[1];
  gradient.inputs.push_back(y);
  gradient.attrs.set("activation", std::string("relu"));
  return true;
}

// --- the bias gradient ---

bool is_bias_gradient(const Graph& graph, const Node& node) {
  return node.is("reduce", "sum") && node.attrs.get<Ints>("axes") == Ints{0, 1, 2} &&
         !node.attrs.get_or("keepdims", false) && graph.spec(node.inputs[0]).shape.rank() == 4;
}

// Whether all operands of `node` are computed before the node at `index`. Then nothing that the
// node at `index` leads to can be among what `node` needs, and the two may become one.
bool is_ready_before(const Graph& graph, const Node& node, size_t index) {
  return std::ranges::all_of(node.inputs, [&](int id) {
    const Node* producer = graph.producer(id);
    return producer == nullptr || size_t(producer - graph.nodes().data()) < index;
  });
}

bool fuse_bias_gradient_at(Graph& graph, size_t sum, size_t weight_gradient) {
  Node& node = graph.mutable_nodes()[weight_gradient];
  if (node.outputs.size() > 1 || !is_ready_before(graph, node, sum)) return false;
  int replaced = graph.nodes()[sum].outputs[0];
  node.attrs.set("bias", true);
  node.outputs.push_back(graph.add_value(graph.spec(replaced), int(weight_gradient)));
  graph.replace_uses(replaced, node.outputs[1]);
  return true;
}

}  // namespace

int fuse_pool_gradient(Graph& graph) {
  std::vector<int> uses = graph.use_counts();
  int fused = 0;
  for (Node& node : graph.mutable_nodes())
    if (is_relu_gradient(node)) fused += fuse_pool_gradient_at(graph, node, uses);
  return fused;
}

int fuse_norm_gradient(Graph& graph) {
  std::vector<int> uses = graph.use_counts();
  int fused = 0;
  for (Node& node : graph.mutable_nodes())
    if (node.is("batch_norm_grad")) fused += fuse_norm_gradient_at(graph, node, uses);
  return fused;
}

int fuse_bias_gradient(Graph& graph) {
  std::map<int, size_t> weight_gradients;  // dy → the node that takes it
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (graph.nodes()[i].is("conv2d_weight_grad"))
      weight_gradients.try_emplace(graph.nodes()[i].inputs[1], i);
  int fused = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (!is_bias_gradient(graph, graph.nodes()[i])) continue;
    auto found = weight_gradients.find(graph.nodes()[i].inputs[0]);
    if (found != weight_gradients.end()) fused += fuse_bias_gradient_at(graph, i, found->second);
  }
  return fused;
}

}  // namespace stoker::passes
