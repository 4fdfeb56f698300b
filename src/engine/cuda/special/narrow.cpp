// Dense layers with few units over small batches (kernels/narrow.h): a library gives such a product
// one tile, and its gradients a pass each.
#include "engine/cuda/special/kernels/narrow.h"

#include <algorithm>

#include "engine/cuda/builder.h"
#include "engine/cuda/special/cases.h"

namespace stoker::cuda {

namespace {

bool transposes(const Node& product, const char* which) {
  return product.attrs.get_or(which, false);
}

std::string activation_of_product(const Node& node) {
  return node.attrs.get_or<std::string>("activation", "");
}

// --- a, w [, bias] → y ---

// a: [..., inner], w: [inner, columns]; leading dimensions are rows.
bool is_narrow_product(const Graph& graph, const Node& node) {
  if (!node.is("matmul") || transposes(node, "transpose_a") || transposes(node, "transpose_b"))
    return false;
  const Shape &a = graph.spec(node.inputs[0]).shape, &w = graph.spec(node.inputs[1]).shape,
              &y = graph.spec(node.outputs[0]).shape;
  int64_t batch = 1;
  for (int axis = 0; axis < y.rank() - 2; ++axis) batch *= y[axis];
  int64_t rows = y[-2] * (w.rank() == 2 ? batch : 1);
  bool one_product = w.rank() == 2 || batch == 1;
  auto activation = activation_of_product(node);
  return one_product && y.elements() > 0 && a[-1] > 0 &&
         (activation.empty() || activation == "relu") && y[-1] <= NarrowProduct::kMostColumns &&
         rows <= NarrowProduct::kMostRows;
}

class NarrowProductNode final : public SpecialNode {
 public:
  void build(Builder& b, const Node& node) const override {
    const Shape& y = b.shape(node.outputs[0]);
    NarrowProduct call;
    call.dtype = b.spec(node.inputs[0]).dtype;
    call.rows = y.elements() / y[-1];
    call.inner = b.shape(node.inputs[0])[-1];
    call.columns = y[-1];
    call.relu = activation_of_product(node) == "relu";
    std::vector<int> reads;
    for (int value : node.inputs) reads.push_back(b.input(value));
    bool has_bias = node.inputs.size() > 2;
    b.emit({"own:narrow", std::move(reads), {b.define(node.outputs[0])}},
           [call, has_bias](const Launch& at) {
             NarrowProduct bound = call;
             bound.a = at.get(0);
             bound.w = at.get(1);
             bound.bias = has_bias ? at.get(2) : nullptr;
             bound.y = at.get(has_bias ? 3 : 2);
             run_narrow_product(bound, at.stream);
           });
  }
};

// --- a, dy → dw [, db] ---

bool is_narrow_gradient(const Graph& graph, const Node& node) {
  if (!node.is("matmul") || node.inputs.size() != 2 || !transposes(node, "transpose_a") ||
      transposes(node, "transpose_b") || !activation_of_product(node).empty())
    return false;
  const Shape &a = graph.spec(node.inputs[0]).shape, &dy = graph.spec(node.inputs[1]).shape;
  return a.rank() == 2 && dy.rank() == 2 && a[0] > 0 && a[0] <= NarrowGradient::kMostRows &&
         a[1] > 0 && a[1] <= 1 << 20 && dy[1] > 0 && dy[1] <= NarrowGradient::kMostColumns;
}

class NarrowGradientNode final : public SpecialNode {
 public:
  explicit NarrowGradientNode(int bias_sum) : bias_sum_(bias_sum) {}
  void build(Builder& b, const Node& node) const override {
    NarrowGradient call;
    const TensorSpec &a = b.spec(node.inputs[0]), &dy = b.spec(node.inputs[1]);
    call.dtype = a.dtype;
    call.rows = int(a.shape[0]);
    call.inner = int(a.shape[1]);
    call.columns = int(dy.shape[1]);
    std::vector<int> reads = {b.input(node.inputs[0]), b.input(node.inputs[1])};
    std::vector<int> writes = {b.define(node.outputs[0])};
    bool has_bias = bias_sum_ >= 0;
    if (has_bias) writes.push_back(b.define(b.graph().nodes()[size_t(bias_sum_)].outputs[0]));
    b.emit({"own:narrow", std::move(reads), std::move(writes)}, [call, has_bias](const Launch& at) {
      NarrowGradient bound = call;
      bound.a = at.get(0);
      bound.dy = at.get(1);
      bound.weights = at.get(2);
      bound.bias = has_bias ? at.get(3) : nullptr;
      run_narrow_gradient(bound, at.stream);
    });
  }

 private:
  int bias_sum_;  // the reduce that sums dy over its rows, or -1
};

// The bias gradient beside the weight gradient `at`, if nothing needs it before that one runs.
const Node* bias_sum_beside(const Readers& readers, const Fusion& found, int at) {
  const Graph& graph = readers.graph();
  for (const Node* sum : readers.of(graph.nodes()[size_t(at)].inputs[1])) {
    bool fits = sum->is("reduce", "sum") && sum->attrs.get<Ints>("axes") == Ints{0} &&
                graph.spec(sum->outputs[0]).shape.rank() == 1 &&
                !found.is_inlined(readers.index_of(sum)) &&
                graph.spec(sum->outputs[0]).dtype == graph.spec(sum->inputs[0]).dtype;
    bool is_late = std::ranges::all_of(
        readers.of(sum->outputs[0]), [&](const Node* user) { return readers.index_of(user) > at; });
    if (fits && is_late) return sum;
  }
  return nullptr;
}

bool is_free(const Fusion& found, int node) {
  return !found.is_inlined(node) && !found.special.contains(node);
}

}  // namespace

void match_narrow_gradients(const Readers& readers, Fusion& found) {
  for (int i = 0; i < int(readers.graph().nodes().size()); ++i) {
    const Node& node = readers.graph().nodes()[size_t(i)];
    if (!is_narrow_gradient(readers.graph(), node) || !is_free(found, i)) continue;
    const Node* sum = found.keeps_order ? nullptr : bias_sum_beside(readers, found, i);
    if (sum != nullptr) found.into[size_t(readers.index_of(sum))] = i;
    found.special[i] =
        std::make_shared<NarrowGradientNode>(sum != nullptr ? readers.index_of(sum) : -1);
  }
}

void match_narrow_products(const Readers& readers, Fusion& found) {
  for (int i = 0; i < int(readers.graph().nodes().size()); ++i)
    if (is_narrow_product(readers.graph(), readers.graph().nodes()[size_t(i)]) && is_free(found, i))
      found.special[i] = std::make_shared<NarrowProductNode>();
}

}  // namespace stoker::cuda
