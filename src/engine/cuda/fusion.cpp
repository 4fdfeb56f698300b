#include "engine/cuda/fusion.h"

#include <algorithm>
#include <functional>
#include <map>

#include "engine/cuda/fusion_norm.h"
#include "engine/cuda/kernels/narrow.h"
#include "engine/cuda/kernels/pointwise.h"
#include "engine/cuda/kernels/update.h"
#include "engine/cuda/update_layout.h"

namespace stoker::cuda {

namespace {

DType main_dtype(const Graph& graph, const Node& node) {
  return graph.spec(node.inputs[node.traits().main_operand]).dtype;
}

bool same_domain(Domain a, Domain b) { return a == b || a == Domain::any || b == Domain::any; }

// What a kernel would need if `node` stood alone.
struct Size {
  int steps, operands;
};

constexpr int kStepsPerNode = 3;  // a save, a load and the op itself, at most

}  // namespace

bool is_pointwise(const Graph& graph, const Node& node) {
  return node.traits().elementwise && !node.traits().updates_variables &&
         graph.spec(node.outputs[0]).dtype != DType::bytes;
}

Domain domain_of(const Graph& graph, const Node& node) {
  DType dtype = main_dtype(graph, node);
  if (dtype == DType::bool_) return Domain::any;
  // An integer becomes a float as it is read; the rest of the kernel computes with floats.
  if (node.op->name == "cast" && is_floating(graph.spec(node.outputs[0]).dtype))
    return Domain::floats;
  return is_floating(dtype) ? Domain::floats : Domain::integers;
}

Fusion no_fusion(const Graph& graph) {
  return {std::vector<int>(graph.nodes().size(), -1),
          std::vector<std::optional<Fusion::NormTail>>(graph.nodes().size()),
          std::vector<int>(graph.nodes().size(), -1),
          std::vector<int>(graph.nodes().size(), -1),
          std::vector<std::optional<Head>>(graph.nodes().size()),
          std::vector<std::optional<Fusion::Join>>(graph.nodes().size())};
}

namespace {

class Finder {
 public:
  explicit Finder(const Graph& graph)
      : graph_(graph), uses_(graph.use_counts()), found_(no_fusion(graph)) {}

  Fusion find() {
    find_norm_fusion(graph_, uses_, found_);
    find_stems();
    find_stem_updates();
    add_heads();
    find_bias_sums();
    find_guard();
    // From the last node back: a chain is grown from its end.
    for (int i = int(graph_.nodes().size()); i-- > 0;) {
      const Node& node = graph_.nodes()[size_t(i)];
      if (found_.into[size_t(i)] >= 0 || found_.tails[size_t(i)] || !is_pointwise(graph_, node))
        continue;
      domain_ = domain_of(graph_, node);
      size_ = {kStepsPerNode, int(node.inputs.size())};
      grow(i, i);
    }
    return std::move(found_);
  }

 private:
  int index_of(const Node* node) const { return int(node - graph_.nodes().data()); }

  void grow(int root, int at) {
    const Node& node = graph_.nodes()[size_t(at)];
    for (int value : node.inputs) {
      const Node* producer = graph_.producer(value);
      if (producer == nullptr || !fits(root, at, *producer)) continue;
      int child = index_of(producer);
      found_.into[size_t(child)] = root;
      size_.steps += kStepsPerNode;
      size_.operands += int(producer->inputs.size()) - 1;
      if (domain_ == Domain::any) domain_ = domain_of(graph_, *producer);
      grow(root, child);
    }
  }

  bool fits(int root, int at, const Node& producer) const {
    int value = producer.outputs[0];
    if (found_.into[size_t(index_of(&producer))] >= 0 || !is_pointwise(graph_, producer) ||
        found_.tails[size_t(index_of(&producer))])
      return false;
    if (uses_[size_t(value)] != 1) return false;
    if (graph_.spec(value).shape != graph_.spec(graph_.nodes()[size_t(root)].outputs[0]).shape)
      return false;
    if (!same_domain(domain_, domain_of(graph_, producer))) return false;
    DType made = graph_.spec(value).dtype;
    // Integers inside a chain of floats would have to be cut to their range on the way.
    if (producer.op->name == "cast" && !is_floating(made) && made != DType::bool_) return false;
    if (graph_.nodes()[size_t(at)].op->name == "cast" && is_integer(made)) return false;
    if (is_integer(made) && made != DType::int64) return false;  // it would wrap on the way
    return size_.steps + kStepsPerNode <= PointwiseProgram::kMaxSteps &&
           size_.operands + int(producer.inputs.size()) - 1 <= PointwiseProgram::kMaxOperands;
  }

  // --- conv2d over one channel, pooled at once, forwards and backwards ---

  std::vector<const Node*> users(int value) const {
    std::vector<const Node*> found;
    for (const Node& node : graph_.nodes())
      if (std::ranges::find(node.inputs, value) != node.inputs.end()) found.push_back(&node);
    return found;
  }

  static bool halves(const Node& pool) {
    return pool.attrs.get<Ints>("window") == Ints{2, 2} &&
           pool.attrs.get<Ints>("strides") == Ints{2, 2} &&
           pool.attrs.get<Ints>("pads") == Ints{0, 0, 0, 0};
  }

  bool is_stem_conv(const Node& node) const {
    if (node.op->name != "conv2d") return false;
    const Shape &x = graph_.spec(node.inputs[0]).shape, &w = graph_.spec(node.inputs[1]).shape;
    return x[3] == 1 && w[0] == 3 && w[1] == 3 && w[3] % 8 == 0 && w[3] <= 2048 &&
           node.attrs.get<Ints>("strides") == Ints{1, 1} &&
           node.attrs.get<Ints>("pads") == Ints{0, 0, 0, 0} &&
           node.attrs.get_or<Ints>("dilation", {1, 1}) == Ints{1, 1} && x[1] > 3 && x[2] > 3 &&
           node.attrs.get_or<std::string>("activation", "") == "relu";
  }

  void find_stems() {
    for (const Node& conv : graph_.nodes()) {
      if (!is_stem_conv(conv)) continue;
      std::vector<const Node*> readers = users(conv.outputs[0]);
      if (size_t(uses_[size_t(conv.outputs[0])]) != readers.size())
        continue;  // also an output, an assignment or the guard
      const Node *pool = nullptr, *gradient = nullptr;
      for (const Node* reader : readers) {
        if (reader->op->name == "max_pool2d") pool = reader;
        if (reader->op->name == "max_pool2d_grad") gradient = reader;
      }
      bool alone =
          pool != nullptr && halves(*pool) && readers.size() == (gradient != nullptr ? 2U : 1U);
      if (!alone || (gradient != nullptr && !add_stem_gradient(conv, *pool, *gradient))) continue;
      found_.into[size_t(index_of(&conv))] = index_of(pool);
      found_.stems[size_t(index_of(pool))] = index_of(&conv);
      take_cast(conv.inputs[0], gradient != nullptr ? 2 : 1, index_of(pool));
      for (size_t i = 1; i < conv.inputs.size(); ++i) take_cast(conv.inputs[i], 1, index_of(pool));
    }
  }

  bool add_stem_gradient(const Node& conv, const Node& pool, const Node& gradient) {
    std::vector<const Node*> readers = users(gradient.outputs[0]);
    bool fits = gradient.inputs[0] == conv.outputs[0] && gradient.inputs[1] == pool.outputs[0] &&
                gradient.attrs.get_or<std::string>("activation", "") == "relu" &&
                readers.size() == 1 && uses_[size_t(gradient.outputs[0])] == 1 &&
                readers[0]->op->name == "conv2d_weight_grad" &&
                readers[0]->inputs[0] == conv.inputs[0];
    if (!fits) return false;
    found_.into[size_t(index_of(&gradient))] = index_of(readers[0]);
    found_.stems[size_t(index_of(readers[0]))] = index_of(&gradient);
    return true;
  }

  // A stem's gradients that nobody but an optimiser reads: its kernel takes the step too.
  void find_stem_updates() {
    for (const Node& update : graph_.nodes()) {
      if (!is_optimizer_update(update)) continue;
      UpdateLayout layout = update_layout(update);
      if (layout.scaled) continue;
      auto takes = [&](int gradient) {
        for (size_t i = 0; i < layout.count; ++i)
          if (update.inputs[layout.gradient(i)] == gradient) return uses_[size_t(gradient)] == 1;
        return false;
      };
      for (int i = 0; i < index_of(&update); ++i) {
        const Node& node = graph_.nodes()[size_t(i)];
        int pool_grad = found_.stems[size_t(i)];
        if (node.op->name != "conv2d_weight_grad" || pool_grad < 0 ||
            !std::ranges::all_of(node.outputs, takes))
          continue;
        found_.into[size_t(i)] = found_.into[size_t(pool_grad)] = index_of(&update);
      }
    }
  }

  // A cast to sixteen bits of a float32 leaf that nobody but a stem or a head reads, `readers`
  // times: `root` rounds as it reads.
  void take_cast(int value, int readers, int root) {
    const Node* cast = graph_.producer(value);
    if (cast == nullptr || cast->op->name != "cast" || found_.is_inlined(index_of(cast)) ||
        uses_[size_t(value)] != readers || size_of(graph_.spec(value).dtype) != 2 ||
        !is_floating(graph_.spec(value).dtype))
      return;
    const ValueInfo& from = graph_.values()[size_t(cast->inputs[0])];
    bool is_leaf = from.kind == ValueKind::variable || from.kind == ValueKind::input;
    if (is_leaf && from.spec.dtype == DType::float32) found_.into[size_t(index_of(cast))] = root;
  }

  // --- the gradients of a narrow dense layer ---

  void find_bias_sums() {
    for (int i = 0; i < int(graph_.nodes().size()); ++i) {
      const Node& product = graph_.nodes()[size_t(i)];
      if (!is_narrow_gradient(graph_, product) || found_.is_inlined(i)) continue;
      for (const Node* sum : users(product.inputs[1])) {
        bool fits = sum->op->name == "reduce" && sum->attrs.get<std::string>("fn") == "sum" &&
                    sum->attrs.get<Ints>("axes") == Ints{0} &&
                    graph_.spec(sum->outputs[0]).shape.rank() == 1 &&
                    !found_.is_inlined(index_of(sum)) &&
                    graph_.spec(sum->outputs[0]).dtype == graph_.spec(sum->inputs[0]).dtype;
        bool is_late = std::ranges::all_of(users(sum->outputs[0]),
                                           [&](const Node* user) { return index_of(user) > i; });
        if (!fits || !is_late) continue;
        found_.into[size_t(index_of(sum))] = i;
        found_.bias_sums[size_t(i)] = index_of(sum);
        break;
      }
    }
  }

  // --- the guard over few gradients ---

  const Node* only_binary(int value, std::string_view fn) const {
    const Node* node = graph_.producer(value);
    bool fits = node != nullptr && node->op->name == "binary" &&
                node->attrs.get<std::string>("fn") == fn && uses_[size_t(value)] == 1;
    return fits ? node : nullptr;
  }

  bool is_zero(int value) const {
    return std::ranges::any_of(graph_.constants(), [&](const GraphConstant& constant) {
      return constant.value == value && constant.tensor.elements() == 1 &&
             constant.tensor.at(0) == 0;
    });
  }

  // loss + norm · 0, as training steps have it: the kernel of the norm makes it and closes the
  // gate.
  void find_guard() {
    if (graph_.guard() < 0 || graph_.gate() >= 0) return;
    const Node* sum = only_binary(graph_.guard(), "add");
    const Node* product = sum != nullptr ? only_binary(sum->inputs[1], "mul") : nullptr;
    if (product == nullptr || !is_zero(product->inputs[1])) return;
    int norm = product->inputs[0], loss = sum->inputs[0];
    const Node *norms = graph_.producer(norm), *losses = graph_.producer(loss);
    if (norms == nullptr || norms->op->name != "clip_scales" || norm != norms->outputs[1] ||
        norms->inputs.size() > NormsCall::kMost)
      return;
    bool is_there = losses == nullptr || index_of(losses) < index_of(norms);
    if (!is_there || graph_.spec(loss) != TensorSpec{DType::float32, {}}) return;
    found_.into[size_t(index_of(sum))] = found_.into[size_t(index_of(product))] = index_of(norms);
  }

  // --- heads of classifiers ---

  void add_heads() {
    size_t count = graph_.nodes().size();
    std::vector<bool> used(count);
    for (size_t i = 0; i < count; ++i)
      used[i] = found_.into[i] >= 0 || found_.tails[i] || found_.stems[i] >= 0 || found_.joins[i];
    for (Head& head : find_heads(graph_, used)) {
      int root = head.root();
      for (int part : {head.matmul, head.loss, head.loss_grad, head.input_grad, head.unpool})
        if (part >= 0 && part != root) found_.into[size_t(part)] = root;
      for (int part : head.others) found_.into[size_t(part)] = root;
      take_cast(head.weights, 2, root);
      if (head.bias >= 0) take_cast(head.bias, 1, root);
      found_.heads[size_t(root)] = std::move(head);
    }
  }

  const Graph& graph_;
  std::vector<int> uses_;
  Fusion found_;
  Domain domain_ = Domain::any;
  Size size_{};
};

}  // namespace

Fusion find_fusion(const Graph& graph) { return Finder(graph).find(); }

const Node* pooled_gradient(const Graph& graph, const Node& weight_grad) {
  if (weight_grad.op->name != "conv2d_weight_grad" || weight_grad.outputs.size() < 2)
    return nullptr;
  const Node* pool = graph.producer(weight_grad.inputs[1]);
  if (pool == nullptr || pool->op->name != "max_pool2d_grad" ||
      pool->attrs.get_or<std::string>("activation", "") != "relu")
    return nullptr;
  const auto &window = pool->attrs.get<Ints>("window"), &strides = pool->attrs.get<Ints>("strides");
  bool apart = strides[0] >= window[0] && strides[1] >= window[1];
  return apart && graph.spec(pool->inputs[1]) == graph.spec(pool->inputs[2]) ? pool : nullptr;
}

bool is_narrow_gradient(const Graph& graph, const Node& node) {
  if (node.op->name != "matmul" || node.inputs.size() != 2 ||
      !node.attrs.get_or("transpose_a", false) || node.attrs.get_or("transpose_b", false) ||
      !node.attrs.get_or<std::string>("activation", "").empty())
    return false;
  const Shape &a = graph.spec(node.inputs[0]).shape, &dy = graph.spec(node.inputs[1]).shape;
  return a.rank() == 2 && dy.rank() == 2 && a[0] > 0 && a[0] <= NarrowGradient::kMostRows &&
         a[1] > 0 && a[1] <= 1 << 20 && dy[1] > 0 && dy[1] <= NarrowGradient::kMostColumns;
}

Uncast uncast(const Graph& graph, const Fusion& fusion, int value) {
  const Node* cast = graph.producer(value);
  if (cast == nullptr || cast->op->name != "cast" ||
      !fusion.is_inlined(int(cast - graph.nodes().data())))
    return {value, false};
  return {cast->inputs[0], true};
}

void skip_gradient_casts(Graph& graph) {
  for (Node& node : graph.mutable_nodes()) {
    if (!node.traits().reads_gradients) continue;
    for (int& value : node.inputs) {
      const Node* cast = graph.producer(value);
      if (cast == nullptr || cast->op->name != "cast") continue;
      DType from = graph.spec(cast->inputs[0]).dtype, to = graph.spec(value).dtype;
      if (to == DType::float32 && is_floating(from)) value = cast->inputs[0];
    }
  }
  graph.remove_dead_nodes();
}

}  // namespace stoker::cuda
