#include "graph/passes/fusion_rules.h"
#include "graph/passes/replacements.h"
#include "graph/unary.h"

namespace stoker::passes {

namespace {

bool takes_any_epilogue(const Node& node) {
  return node.traits().epilogue == Epilogue::bias_and_activation;
}

bool has_activation(const Node& node) {
  return !node.attrs.get_or<std::string>("activation", "").empty();
}

// Index of the node that computes a value, -1 for leaves.
int producer_index(const Graph& graph, int value) {
  const Node* node = graph.producer(value);
  return node == nullptr ? -1 : int(node - graph.nodes().data());
}

// An op that can still take a bias, whose result only one node reads.
bool takes_bias(const Graph& graph, int value, const std::vector<int>& uses) {
  const Node* node = graph.producer(value);
  return node != nullptr && takes_any_epilogue(*node) && node->inputs.size() == 2 &&
         !has_activation(*node) && uses[size_t(value)] == 1;
}

bool is_bias_of(const Graph& graph, int bias, int value) {
  const TensorSpec& result = graph.spec(value);
  return graph.spec(bias) == TensorSpec{result.dtype, {result.shape[-1]}};
}

// The product takes the addition's place: there the bias is known, whoever computes it.
bool fuse_bias_at(Graph& graph, Node& add, const std::vector<int>& uses) {
  for (size_t i = 0; i < 2; ++i) {
    int result = add.inputs[i], bias = add.inputs[1 - i];
    if (!takes_bias(graph, result, uses) || !is_bias_of(graph, bias, result)) continue;
    const Node& product = *graph.producer(result);
    if (product.phase != add.phase) continue;
    std::vector<int> outputs = add.outputs;
    add = product;
    add.inputs.push_back(bias);
    add.outputs = std::move(outputs);
    return true;
  }
  return false;
}

bool takes_activation(const Node& node, const UnaryInfo& function) {
  if (has_activation(node)) return false;
  return (takes_any_epilogue(node) && function.gradient_from_output) ||
         (node.traits().epilogue == Epilogue::relu && function.fn == UnaryFn::relu);
}

// The function becomes an attribute of the node before it, whose output stands for both.
bool fuse_activation_at(Graph& graph, const Node& unary, std::vector<int>& uses,
                        Replacements& replaced) {
  const UnaryInfo& function = unary_info(unary.attrs.get<std::string>("fn"));
  int before = replaced(unary.inputs[0]), after = unary.outputs[0];
  int index = producer_index(graph, before);
  if (index < 0 || uses[size_t(before)] != 1) return false;
  Node& node = graph.mutable_nodes()[size_t(index)];
  if (node.outputs[0] != before || node.phase != unary.phase || !takes_activation(node, function))
    return false;
  node.attrs.set("activation", std::string(function.name));
  if (takes_any_epilogue(node)) node.attrs.set("alpha", unary.attrs.get_or("alpha", 0.0));
  replaced.add(after, before);
  uses[size_t(before)] = uses[size_t(after)];
  return true;
}

}  // namespace

int fuse_bias(Graph& graph) {
  std::vector<int> uses = graph.use_counts();
  int fused = 0;
  for (Node& node : graph.mutable_nodes())
    if (node.is("binary", "add")) fused += fuse_bias_at(graph, node, uses);
  return fused;
}

int fuse_activation(Graph& graph) {
  std::vector<int> uses = graph.use_counts();
  Replacements replaced(graph);
  int fused = 0;
  for (const Node& node : graph.nodes())
    if (node.is("unary")) fused += fuse_activation_at(graph, node, uses, replaced);
  replaced.apply(graph);
  return fused;
}

}  // namespace stoker::passes
