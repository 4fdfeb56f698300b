#include "engine/cuda/fusion.h"

#include <algorithm>

#include "engine/cuda/fuser/find_regions.h"
#include "engine/cuda/fusion_norm.h"
#include "engine/cuda/kernels/pointwise.h"
#include "engine/cuda/kernels/update.h"

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
  if (node.is("cast") && is_floating(graph.spec(node.outputs[0]).dtype)) return Domain::floats;
  return is_floating(dtype) ? Domain::floats : Domain::integers;
}

bool Fusion::is_normalized_later(int norm) const {
  auto of_tail = [&](const auto& tail) {
    return tail && (tail->norm == norm || tail->residual_norm == norm);
  };
  auto of_special = [&](const auto& entry) { return entry.second->normalizes() == norm; };
  return std::ranges::any_of(tails, of_tail) || std::ranges::any_of(special, of_special);
}

namespace {

Fusion nothing(const Graph& graph) {
  size_t nodes = graph.nodes().size();
  return {.into = std::vector<int>(nodes, -1),
          .tails = std::vector<std::optional<Fusion::NormTail>>(nodes),
          .joins = std::vector<std::optional<Fusion::Join>>(nodes),
          .special = {}};
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), readers_(graph), found_(nothing(graph)) {}

  Fusion find(Generated generated) {
    find_norm_fusion(readers_, found_);
    for (const Special& special : specials()) special.match(readers_, found_);
    find_guard();
    if (generated == Generated::yes) find_generated();
    // From the last node back: a chain is grown from its end.
    for (int i = int(graph_.nodes().size()); i-- > 0;) {
      const Node& node = graph_.nodes()[size_t(i)];
      if (is_taken(i) || !is_pointwise(graph_, node)) continue;
      domain_ = domain_of(graph_, node);
      size_ = {kStepsPerNode, int(node.inputs.size())};
      grow(i, i);
    }
    return std::move(found_);
  }

 private:
  int index_of(const Node* node) const { return readers_.index_of(node); }

  // Whether something other than a chain runs this node.
  bool is_taken(int node) const {
    return found_.into[size_t(node)] >= 0 || found_.tails[size_t(node)] ||
           found_.joins[size_t(node)] || found_.special.contains(node) ||
           found_.regions.contains(node);
  }

  void find_generated() {
    fuser::RegionOptions options{.is_taken = [&](int node) { return is_taken(node); }};
    for (fuser::FoundRegion& each : fuser::find_regions(readers_, options)) {
      for (int node : each.nodes)
        if (int& into = found_.into[size_t(node)]; node != each.root && into < 0) into = each.root;
      found_.regions[each.root] = std::move(each.region);
    }
  }

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
    if (is_taken(index_of(&producer)) || !is_pointwise(graph_, producer)) return false;
    if (readers_.uses(value) != 1) return false;
    if (graph_.spec(value).shape != graph_.spec(graph_.nodes()[size_t(root)].outputs[0]).shape)
      return false;
    if (!same_domain(domain_, domain_of(graph_, producer))) return false;
    DType made = graph_.spec(value).dtype;
    // Integers inside a chain of floats would have to be cut to their range on the way.
    if (producer.is("cast") && !is_floating(made) && made != DType::bool_) return false;
    if (graph_.nodes()[size_t(at)].is("cast") && is_integer(made)) return false;
    if (is_integer(made) && made != DType::int64) return false;  // it would wrap on the way
    return size_.steps + kStepsPerNode <= PointwiseProgram::kMaxSteps &&
           size_.operands + int(producer.inputs.size()) - 1 <= PointwiseProgram::kMaxOperands;
  }

  // --- the guard over few gradients ---

  const Node* only_binary(int value, std::string_view fn) const {
    const Node* node = graph_.producer(value);
    bool fits = node != nullptr && node->is("binary", fn) && readers_.uses(value) == 1;
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
    if (norms == nullptr || !norms->is("clip_scales") || norm != norms->outputs[1] ||
        norms->inputs.size() > NormsCall::kMost)
      return;
    bool is_there = losses == nullptr || index_of(losses) < index_of(norms);
    if (!is_there || graph_.spec(loss) != TensorSpec{DType::float32, {}}) return;
    found_.into[size_t(index_of(sum))] = found_.into[size_t(index_of(product))] = index_of(norms);
  }

  const Graph& graph_;
  Readers readers_;
  Fusion found_;
  Domain domain_ = Domain::any;
  Size size_{};
};

}  // namespace

Fusion find_fusion(const Graph& graph, Generated generated) {
  return Finder(graph).find(generated);
}

Fusion no_fusion(const Graph& graph) {
  Fusion found = nothing(graph);
  found.keeps_order = true;
  Readers readers(graph);
  for (const Special& special : specials())
    if (special.alone) special.match(readers, found);
  return found;
}

const Node* pooled_gradient(const Graph& graph, const Node& weight_grad) {
  if (!weight_grad.is("conv2d_weight_grad") || weight_grad.outputs.size() < 2) return nullptr;
  const Node* pool = graph.producer(weight_grad.inputs[1]);
  if (pool == nullptr || !pool->is("max_pool2d_grad") ||
      pool->attrs.get_or<std::string>("activation", "") != "relu")
    return nullptr;
  const auto &window = pool->attrs.get<Ints>("window"), &strides = pool->attrs.get<Ints>("strides");
  bool apart = strides[0] >= window[0] && strides[1] >= window[1];
  return apart && graph.spec(pool->inputs[1]) == graph.spec(pool->inputs[2]) ? pool : nullptr;
}

void skip_gradient_casts(Graph& graph) {
  for (Node& node : graph.mutable_nodes()) {
    if (!node.traits().reads_gradients) continue;
    for (int& value : node.inputs) {
      const Node* cast = graph.producer(value);
      if (cast == nullptr || !cast->is("cast")) continue;
      DType from = graph.spec(cast->inputs[0]).dtype, to = graph.spec(value).dtype;
      if (to == DType::float32 && is_floating(from)) value = cast->inputs[0];
    }
  }
  graph.remove_dead_nodes();
}

namespace {

// The 16-bit value whose cast to float32 this is, or -1.
int narrow_of(const Graph& graph, int value) {
  const Node* cast = graph.producer(value);
  if (cast == nullptr || !cast->is("cast") || graph.spec(value).dtype != DType::float32) return -1;
  DType from = graph.spec(cast->inputs[0]).dtype;
  return is_floating(from) && size_of(from) == 2 ? cast->inputs[0] : -1;
}

// The results of the casts to `dtype` that read a value; nothing where something else reads it too.
std::vector<int> casts_of(const Graph& graph, int value, DType dtype, int uses) {
  std::vector<int> found;
  for (const Node& node : graph.nodes())
    if (node.is("cast") && node.inputs[0] == value && graph.spec(node.outputs[0]).dtype == dtype)
      found.push_back(node.outputs[0]);
  return int(found.size()) == uses ? found : std::vector<int>();
}

}  // namespace

void skip_logit_casts(Graph& graph) {
  std::vector<int> uses = graph.use_counts();
  const size_t nodes = graph.nodes().size();
  for (size_t i = 0; i < nodes; ++i) {
    Node& node = graph.mutable_nodes()[i];
    bool gradient =
        node.is("sparse_softmax_cross_entropy_grad") || node.is("softmax_cross_entropy_grad");
    if (!gradient && !node.is("sparse_softmax_cross_entropy") && !node.is("softmax_cross_entropy"))
      continue;
    int logits = narrow_of(graph, node.inputs[0]), wide = node.outputs[0];
    if (logits < 0) continue;
    if (gradient) {
      TensorSpec spec = graph.spec(logits);
      std::vector<int> casts = casts_of(graph, wide, spec.dtype, uses[size_t(wide)]);
      if (casts.empty()) continue;
      node.outputs[0] = graph.add_value(spec, int(i));
      for (int cast : casts) graph.replace_uses(cast, node.outputs[0]);
    }
    node.inputs[0] = logits;
  }
  graph.remove_dead_nodes();
}

}  // namespace stoker::cuda
