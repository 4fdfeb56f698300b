// Sums that the kernel before them makes on the way: residuals, gradients that meet, bias gradients.
#include <algorithm>

#include "engine/cuda/builder.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/products.h"
#include "engine/cuda/special/cases.h"

namespace stoker::cuda {

namespace {

constexpr double kLargeProduct = 1e6;  // FLOPs

bool is_free(const Readers& readers, const Fusion& found, const Node* node) {
  int index = readers.index_of(node);
  return !found.is_inlined(index) && !found.special.contains(index) &&
         !found.tails[size_t(index)] && !found.joins[size_t(index)];
}

double product_flops(const Graph& graph, const Node& matmul) {
  const Shape& a = graph.spec(matmul.inputs[0]).shape;
  int64_t inner = a[matmul.attrs.get_or("transpose_a", false) ? -2 : -1];
  return 2.0 * double(inner) * double(graph.spec(matmul.outputs[0]).shape.elements());
}

// Not for the kernels of products with few columns.
bool is_large_product(const Graph& graph, const Node& node) {
  return node.is("matmul") && graph.spec(node.outputs[0]).shape[-1] > 16 &&
         node.attrs.get_or<std::string>("activation", "").empty() &&
         product_flops(graph, node) >= kLargeProduct;
}

// `part` + another value: the node that makes `part` adds it. `which` is that node.
class SumNode final : public SpecialNode {
 public:
  SumNode(int which, int other) : which_(which), other_(other) {}
  void build(Builder& b, const Node& sum) const override {
    const Node& node = b.graph().nodes()[size_t(which_)];
    if (node.is("layer_norm_grad")) return emit_layer_norm_grad(b, node, other_, sum.outputs[0]);
    int a = b.input(node.inputs[0]), w = b.input(node.inputs[1]), addend = b.input(other_);
    int out = b.define_over(sum.outputs[0], {addend});
    emit_product(b, node, matmul_key(b, node), a, w,
                 {.out = out, .tail = Tail::add, .aux = addend});
  }
  int includes() const override { return which_; }

 private:
  int which_, other_;
};

// Whether the results of `node` but the first are read behind the node at `index` alone.
bool are_read_behind(const Readers& readers, const Node& node, int index) {
  for (size_t i = 1; i < node.outputs.size(); ++i)
    for (const Node* reader : readers.of(node.outputs[i]))
      if (readers.index_of(reader) <= index) return false;
  return true;
}

}  // namespace

void match_sums(const Readers& readers, Fusion& found) {
  const Graph& graph = readers.graph();
  for (const Node& sum : graph.nodes()) {
    if (!sum.is("binary", "add") || !is_free(readers, found, &sum)) continue;
    int index = readers.index_of(&sum);
    for (size_t i : {size_t(1), size_t(0)}) {
      int part = sum.inputs[i], other = sum.inputs[1 - i];
      const Node* node = graph.producer(part);
      if (node == nullptr || part != node->outputs[0] || readers.uses(part) != 1 ||
          graph.spec(part) != graph.spec(other) || !is_free(readers, found, node) ||
          !(is_large_product(graph, *node) || node->is("layer_norm_grad")) ||
          !are_read_behind(readers, *node, index))
        continue;
      found.into[size_t(readers.index_of(node))] = index;
      found.special[index] = std::make_shared<SumNode>(readers.index_of(node), other);
      break;
    }
  }
}

// --- GELU, and its gradient ---

namespace {

// Behind the product at `which`, whose kernel does it.
class GeluNode final : public SpecialNode {
 public:
  explicit GeluNode(int which) : which_(which) {}
  void build(Builder& b, const Node& gelu) const override {
    const Node& node = b.graph().nodes()[size_t(which_)];
    bool gradient = gelu.is("unary_grad");
    MatmulKey key = matmul_key(b, node);
    key.tail = gradient ? Tail::gelu_gradient : Tail::gelu;
    key.bias = node.inputs.size() > 2;
    if (b.shared().matmul_plans.find(key, b.shared().pool) == nullptr) {
      find_op_builder("matmul")->build(b, node);
      return find_op_builder(gelu.op->name)->build(b, gelu);
    }
    int a = b.input(node.inputs[0]), w = b.input(node.inputs[1]);
    int aux = gradient ? b.input(gelu.inputs[0]) : b.define(node.outputs[0]);
    int out = b.define(gelu.outputs[0]);
    emit_product(b, node, matmul_key(b, node), a, w, {.out = out, .tail = key.tail, .aux = aux});
  }
  int includes() const override { return which_; }

 private:
  int which_;
};

}  // namespace

void match_gelus(const Readers& readers, Fusion& found) {
  const Graph& graph = readers.graph();
  for (const Node& gelu : graph.nodes()) {
    bool forward = gelu.is("unary", "gelu_tanh"), backward = gelu.is("unary_grad", "gelu_tanh");
    if ((!forward && !backward) || !is_free(readers, found, &gelu)) continue;
    int value = gelu.inputs[backward ? 1 : 0], index = readers.index_of(&gelu);
    const Node* node = graph.producer(value);
    if (node == nullptr || !is_large_product(graph, *node) || !is_free(readers, found, node) ||
        size_of(graph.spec(value).dtype) != 2 || graph.spec(value).shape[-1] % 8 != 0 ||
        graph.spec(node->inputs[1]).shape.rank() != 2)
      continue;
    // Whatever else reads the product comes later; its gradient is needed for this alone.
    bool fits = backward ? readers.uses(value) == 1 && node->inputs.size() == 2
                         : std::ranges::all_of(readers.of(value), [&](const Node* reader) {
                             return readers.index_of(reader) >= index;
                           });
    if (!fits) continue;
    found.into[size_t(readers.index_of(node))] = index;
    found.special[index] = std::make_shared<GeluNode>(readers.index_of(node));
  }
}

// --- bias gradients ---

namespace {

class ProductWithSums final : public SpecialNode {
 public:
  explicit ProductWithSums(int sum) : sum_(sum) {}
  void build(Builder& b, const Node& node) const override {
    const Node& sum = b.graph().nodes()[size_t(sum_)];
    MatmulKey key = matmul_key(b, node);
    key.column_sums = true;
    int a = b.input(node.inputs[0]), w = b.input(node.inputs[1]);
    bool possible = b.shared().matmul_plans.find(key, b.shared().pool) != nullptr;
    int sums = possible ? b.define(sum.outputs[0]) : -1;
    emit_product(b, node, matmul_key(b, node), a, w, {.column_sums = sums});
    if (!possible) find_op_builder(sum.op->name)->build(b, sum);
  }
  std::vector<int> also_reads(const Graph& graph) const override {
    return {graph.nodes()[size_t(sum_)].inputs[0]};
  }

 private:
  int sum_;
};

// The value that a chain of reshapes begins with.
int unshaped(const Graph& graph, int value) {
  const Node* node = graph.producer(value);
  return node != nullptr && node->is("reshape") ? unshaped(graph, node->inputs[0]) : value;
}

// A sum over all axes but the last.
bool is_column_sum(const Graph& graph, const Node& node) {
  if (!node.is("reduce", "sum") || graph.spec(node.outputs[0]).shape.rank() != 1) return false;
  const Shape& from = graph.spec(node.inputs[0]).shape;
  const auto& axes = node.attrs.get<Ints>("axes");
  return from.rank() > 1 && int(axes.size()) == from.rank() - 1 &&
         std::ranges::find(axes, int64_t(from.rank() - 1)) == axes.end();
}

}  // namespace

void match_column_sums(const Readers& readers, Fusion& found) {
  const Graph& graph = readers.graph();
  std::map<int, const Node*> products;  // by dy
  for (const Node& node : graph.nodes())
    if (is_large_product(graph, node) && node.inputs.size() == 2 &&
        node.attrs.get_or("transpose_a", false) && !node.attrs.get_or("transpose_b", false) &&
        graph.spec(node.outputs[0]).shape.rank() == 2 &&
        size_of(graph.spec(node.inputs[1]).dtype) == 2 && is_free(readers, found, &node))
      products.try_emplace(unshaped(graph, node.inputs[1]), &node);
  for (const Node& sum : graph.nodes()) {
    if (!is_column_sum(graph, sum) || !is_free(readers, found, &sum)) continue;
    auto product = products.find(unshaped(graph, sum.inputs[0]));
    if (product == products.end()) continue;
    const Node* node = product->second;
    int index = readers.index_of(node);
    auto reads = readers.of(sum.outputs[0]);
    bool fits = graph.spec(sum.outputs[0]) == TensorSpec{graph.spec(node->inputs[1]).dtype,
                                                         {graph.spec(node->outputs[0]).shape[1]}} &&
                std::ranges::all_of(
                    reads, [&](const Node* reader) { return readers.index_of(reader) > index; });
    if (!fits || found.special.contains(index)) continue;
    found.into[size_t(readers.index_of(&sum))] = index;
    found.special[index] = std::make_shared<ProductWithSums>(readers.index_of(&sum));
  }
}

}  // namespace stoker::cuda
