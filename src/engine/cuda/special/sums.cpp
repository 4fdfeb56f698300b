// Sums that the kernel before them makes on the way: residuals, and gradients that meet.
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
    emit_product(b, node, matmul_key(b, node), a, w, {.out = out, .addend = addend});
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

}  // namespace stoker::cuda
