#include "engine/cuda/special/heads.h"

#include <algorithm>

#include "engine/cuda/special/cases.h"
#include "engine/cuda/special/kernels/head.h"
#include "engine/pooled_conv.h"

namespace stoker::cuda {

namespace {

class HeadFinder {
 public:
  HeadFinder(const Graph& graph, const std::vector<bool>& taken)
      : graph_(graph), taken_(taken), uses_(graph.use_counts()) {}

  std::vector<Head> find() {
    std::vector<Head> heads;
    for (const Node& node : graph_.nodes())
      if (node.is("sparse_softmax_cross_entropy_grad"))
        if (Head head; find_at(node, head)) heads.push_back(std::move(head));
    return heads;
  }

  // Nodes that make what the head reads, and come after its first one.
  std::vector<int> late_inputs(const Head& head) const {
    std::vector<int> found;
    for (int value : {head.image, head.weights, head.bias, head.labels, head.slopes})
      add_late(value, head.root(), found);
    return found;
  }

 private:
  int index_of(const Node* node) const {
    return node == nullptr ? -1 : int(node - graph_.nodes().data());
  }
  const Node& node(int index) const { return graph_.nodes()[size_t(index)]; }

  // The node of this op that makes a value, if nothing else has taken it.
  const Node* producer(int value, std::string_view op) const {
    const Node* found = graph_.producer(value);
    return found != nullptr && found->is(op) && !taken_[size_t(index_of(found))] ? found : nullptr;
  }

  // The node of this op that reads a value as its first operand.
  const Node* reader(int value, std::string_view op) const {
    for (const Node& each : graph_.nodes())
      if (each.is(op) && !each.inputs.empty() && each.inputs[0] == value &&
          !taken_[size_t(index_of(&each))])
        return &each;
    return nullptr;
  }

  // The only reader there is.
  const Node* only_reader(int value, std::string_view op) const {
    return uses_[size_t(value)] == 1 ? reader(value, op) : nullptr;
  }

  static bool transposes(const Node& product, bool a, bool b) {
    return product.attrs.get_or("transpose_a", false) == a &&
           product.attrs.get_or("transpose_b", false) == b;
  }

  bool find_at(const Node& loss_grad, Head& head) const {
    head.loss_grad = index_of(&loss_grad);
    head.labels = loss_grad.inputs[1];
    head.slopes = loss_grad.inputs[2];
    head.logits = loss_grad.inputs[0];
    head.logits_grad = loss_grad.outputs[0];
    const Node* loss = reader(head.logits, "sparse_softmax_cross_entropy");
    if (loss == nullptr || loss->inputs[1] != head.labels) return false;
    head.loss = index_of(loss);
    head.losses = loss->outputs[0];
    return skip_casts(head) && find_products(head) && fits(head) && is_apart(head);
  }

  // Mixed precision counts the loss in float32: the logits are cast to it, and the gradient back.
  bool skip_casts(Head& head) const {
    const Node* widened = producer(head.logits, "cast");
    if (widened == nullptr) return true;
    const Node* narrowed = only_reader(head.logits_grad, "cast");
    if (uses_[size_t(head.logits)] != 2 || narrowed == nullptr) return false;
    head.logits = widened->inputs[0];
    head.logits_grad = narrowed->outputs[0];
    head.others = {index_of(widened), index_of(narrowed)};
    return graph_.spec(head.logits) == graph_.spec(head.logits_grad);
  }

  bool find_products(Head& head) const {
    const Node* matmul = producer(head.logits, "matmul");
    if (matmul == nullptr || !transposes(*matmul, false, false) ||
        !matmul->attrs.get_or<std::string>("activation", "").empty())
      return false;
    head.matmul = index_of(matmul);
    head.image = matmul->inputs[0];
    head.weights = matmul->inputs[1];
    if (matmul->inputs.size() > 2) head.bias = matmul->inputs[2];
    for (const Node& each : graph_.nodes())
      if (each.is("matmul") && each.inputs[0] == head.logits_grad &&
          each.inputs[1] == head.weights && each.inputs.size() == 2 &&
          transposes(each, false, true) && !taken_[size_t(index_of(&each))])
        head.input_grad = index_of(&each);
    if (head.input_grad < 0) return false;
    head.features_grad = node(head.input_grad).outputs[0];
    add_pooling(head);
    return true;
  }

  // pool → reshape → matmul, and backwards.
  void add_pooling(Head& head) const {
    const Node* flat = producer(head.image, "reshape");
    const Node* pool = flat != nullptr ? producer(flat->inputs[0], "max_pool2d") : nullptr;
    const Node* back = only_reader(head.features_grad, "reshape");
    if (pool == nullptr || back == nullptr || !halves_image(*pool) ||
        graph_.spec(pool->inputs[0]).shape[3] % HeadCall::kLanes != 0)
      return;
    if (uses_[size_t(back->outputs[0])] != 1) return;
    for (const Node& each : graph_.nodes())
      if (each.is("max_pool2d_grad") && each.inputs[0] == pool->inputs[0] &&
          each.inputs[1] == pool->outputs[0] && each.inputs[2] == back->outputs[0] &&
          !taken_[size_t(index_of(&each))]) {
        head.pool = index_of(pool);
        head.unpool = index_of(&each);
        head.image = pool->inputs[0];
        head.others.push_back(index_of(flat));
        head.others.push_back(index_of(back));
      }
  }

  bool fits(const Head& head) const {
    const TensorSpec& features = graph_.spec(node(head.matmul).inputs[0]);
    const TensorSpec& labels = graph_.spec(head.labels);
    const Shape& weights = graph_.spec(head.weights).shape;
    return features.shape.rank() == 2 && weights.rank() == 2 && is_floating(features.dtype) &&
           features.dtype == graph_.spec(head.logits_grad).dtype &&
           labels.shape.elements() == features.shape[0] &&
           (labels.dtype == DType::int32 || labels.dtype == DType::int64) &&
           head_fits(features.shape[0], features.shape[1], weights[1]);
  }

  // Whether nothing that the head reads depends on what it makes.
  bool is_apart(const Head& head) const {
    std::vector<int> parts = parts_of(head);
    return std::ranges::none_of(late_inputs(head), [&](int index) {
      return std::ranges::find(parts, index) != parts.end();
    });
  }

  static std::vector<int> parts_of(const Head& head) {
    std::vector<int> parts = head.others;
    for (int index :
         {head.pool, head.matmul, head.loss, head.loss_grad, head.input_grad, head.unpool})
      parts.push_back(index);
    return parts;
  }

  void add_late(int value, int root, std::vector<int>& found) const {
    int index = value < 0 ? -1 : index_of(graph_.producer(value));
    if (index < root || std::ranges::find(found, index) != found.end()) return;
    found.push_back(index);
    for (int input : node(index).inputs) add_late(input, root, found);
  }

  const Graph& graph_;
  const std::vector<bool>& taken_;
  std::vector<int> uses_;
};

}  // namespace

std::vector<Head> find_heads(const Graph& graph, const std::vector<bool>& taken) {
  HeadFinder finder(graph, taken);
  std::vector<Head> heads = finder.find();
  std::erase_if(heads, [&](const Head& head) { return !finder.late_inputs(head).empty(); });
  return heads;
}

// The slope of the loss is made after the loss: what a head reads is moved before it, where that
// does not depend on it.
void order_for_heads(Graph& graph) {
  const std::vector<bool> none(graph.nodes().size(), false);
  size_t count = HeadFinder(graph, none).find().size();
  for (size_t which = 0; which < count; ++which) {
    HeadFinder finder(graph, none);
    std::vector<Head> heads = finder.find();
    if (which >= heads.size()) return;
    std::vector<int> late = finder.late_inputs(heads[which]);
    if (late.empty()) continue;
    std::ranges::sort(late);
    std::vector<Node>& nodes = graph.mutable_nodes();
    std::vector<Node> ordered;
    ordered.reserve(nodes.size());
    auto is_late = [&](size_t index) { return std::ranges::binary_search(late, int(index)); };
    auto root = size_t(heads[which].root());
    for (size_t i = 0; i < root; ++i) ordered.push_back(nodes[i]);
    for (int index : late) ordered.push_back(nodes[size_t(index)]);
    for (size_t i = root; i < nodes.size(); ++i)
      if (!is_late(i)) ordered.push_back(nodes[i]);
    nodes = std::move(ordered);
    graph.remove_dead_nodes();  // also tells the values where their nodes are now
  }
}

}  // namespace stoker::cuda
