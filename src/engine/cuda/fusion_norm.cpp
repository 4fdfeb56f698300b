#include "engine/cuda/fusion_norm.h"

#include <algorithm>
#include <string>

namespace stoker::cuda {

namespace {

std::string activation_of(const Node& node) {
  return node.attrs.get_or<std::string>("activation", "");
}

bool is_function(const Node& node, const char* op, const char* fn) {
  return node.op->name == op && node.attrs.get<std::string>("fn") == fn;
}

class NormFinder {
 public:
  NormFinder(const Graph& graph, const std::vector<int>& uses, Fusion& found)
      : graph_(graph), uses_(uses), found_(found) {}

  void find() {
    for (const Node& node : graph_.nodes()) {
      if (is_function(node, "binary", "add")) add_tail(node);
      if (node.op->name == "max_pool2d") add_pooled(node);
    }
    for (const Node& node : graph_.nodes())
      if (node.op->name == "batch_norm_grad" && node.inputs.size() == 5) add_join(node);
  }

 private:
  int index_of(const Node* node) const { return int(node - graph_.nodes().data()); }

  std::vector<const Node*> users(int value) const {
    std::vector<const Node*> found;
    for (const Node& node : graph_.nodes())
      if (std::ranges::find(node.inputs, value) != node.inputs.end()) found.push_back(&node);
    return found;
  }

  // The one node that reads the value, if nothing else needs it.
  const Node* only_user(int value) const {
    std::vector<const Node*> found = users(value);
    return uses_[size_t(value)] == 1 && found.size() == 1 ? found[0] : nullptr;
  }

  // --- batch_norm, + residual, relu ---

  // The batch norm that gives `value` to one node alone, as it is.
  const Node* plain_norm(int value) const {
    const Node* norm = graph_.producer(value);
    bool fits = norm != nullptr && norm->op->name == "batch_norm" && norm->outputs[0] == value &&
                uses_[size_t(value)] == 1 && activation_of(*norm).empty();
    return fits ? norm : nullptr;
  }

  void add_tail(const Node& add) {
    for (size_t which = 0; which < 2; ++which) {
      int normalized = add.inputs[which], residual = add.inputs[1 - which];
      const Node* norm = plain_norm(normalized);
      if (norm == nullptr || graph_.spec(residual) != graph_.spec(normalized)) continue;
      const Node* other = plain_norm(residual);
      const Node* relu = only_user(add.outputs[0]);
      if (relu != nullptr && !is_function(*relu, "unary", "relu")) relu = nullptr;
      int root = index_of(relu != nullptr ? relu : &add);
      if (relu != nullptr) found_.into[size_t(index_of(&add))] = root;
      found_.tails[size_t(root)] = Fusion::NormTail{
          index_of(norm), residual, other != nullptr ? index_of(other) : -1, relu != nullptr};
      return;
    }
  }

  // --- batch_norm, relu, max pooling ---

  static bool halves(const Node& pool) {
    const auto& window = pool.attrs.get<Ints>("window");
    return pool.attrs.get<Ints>("strides") == Ints{2, 2} &&
           (window == Ints{2, 2} || window == Ints{3, 3});
  }

  void add_pooled(const Node& pool) {
    int large = pool.inputs[0];
    const Node* norm = graph_.producer(large);
    if (norm == nullptr || norm->op->name != "batch_norm" || norm->outputs[0] != large ||
        activation_of(*norm) != "relu" || !halves(pool))
      return;
    std::vector<const Node*> readers = users(large);
    if (readers.size() > 2 || size_t(uses_[size_t(large)]) != readers.size()) return;
    for (const Node* reader : readers)
      if (reader != &pool && !add_pooled_gradient(*norm, pool, *reader)) return;
    found_.tails[size_t(index_of(&pool))] = Fusion::NormTail{index_of(norm), -1, -1, true};
  }

  bool add_pooled_gradient(const Node& norm, const Node& pool, const Node& pool_grad) {
    if (pool_grad.op->name != "max_pool2d_grad" || pool_grad.inputs[0] != pool.inputs[0] ||
        pool_grad.inputs[1] != pool.outputs[0] || activation_of(pool_grad) != "relu")
      return false;
    const Node* gradient = only_user(pool_grad.outputs[0]);
    // Beta is read again: it must not be something computed that has gone by then.
    bool fits = gradient != nullptr && gradient->op->name == "batch_norm_grad" &&
                gradient->inputs.size() == 5 && gradient->inputs[1] == norm.inputs[0] &&
                gradient->inputs[2] == norm.inputs[1] && gradient->inputs[3] == norm.outputs[1] &&
                graph_.producer(norm.inputs[2]) == nullptr;
    if (!fits) return false;
    int at = index_of(gradient), dy = pool_grad.inputs[2];
    Fusion::Join join{dy, -1, -1, -1, index_of(&pool_grad)};
    const Node* sum = sum_for(dy, graph_.spec(pool.outputs[0]));
    if (sum != nullptr) {
      join.first = sum->inputs[0];
      join.second = sum->inputs[1];
      found_.into[size_t(index_of(sum))] = at;
    }
    found_.into[size_t(index_of(&pool_grad))] = at;
    found_.joins[size_t(at)] = join;
    return true;
  }

  // --- the sum of two gradients through a relu, made by the first batch_norm_grad that takes it

  // The sum that nobody else needs, if `value` is one of two values like it.
  const Node* sum_for(int value, const TensorSpec& like) const {
    const Node* sum = graph_.producer(value);
    bool fits = sum != nullptr && is_function(*sum, "binary", "add") && uses_[size_t(value)] == 1 &&
                graph_.spec(sum->inputs[0]) == like && graph_.spec(sum->inputs[1]) == like &&
                !found_.is_inlined(index_of(sum)) && !found_.tails[size_t(index_of(sum))];
    return fits ? sum : nullptr;
  }

  void add_join(const Node& norm) {
    int at = index_of(&norm), dy = norm.inputs[0];
    const Node* relu = graph_.producer(dy);
    if (relu == nullptr || !is_function(*relu, "unary_grad", "relu") || taken_by_another(*relu, at))
      return;
    const Node* sum = sum_for(relu->inputs[1], graph_.spec(norm.inputs[1]));
    if (sum == nullptr || !comes_from_tail(relu->inputs[0])) return;
    int other = other_norm(dy, at);
    found_.into[size_t(index_of(relu))] = found_.into[size_t(index_of(sum))] = at;
    if (other >= 0) found_.into[size_t(other)] = at;
    found_.joins[size_t(at)] =
        Fusion::Join{sum->inputs[0], sum->inputs[1], relu->inputs[0], other, -1};
  }

  // Whether a tail makes `y`, so that it can note where its relu let something through.
  bool comes_from_tail(int y) const {
    const Node* made = graph_.producer(y);
    if (made == nullptr) return false;
    const auto& tail = found_.tails[size_t(index_of(made))];
    return tail && tail->residual >= 0 && tail->relu;
  }

  // Whether somebody needs the relu's gradient before node `first` has made it.
  bool taken_by_another(const Node& relu, int first) const {
    if (found_.is_inlined(index_of(&relu))) return true;
    return std::ranges::any_of(users(relu.outputs[0]),
                               [&](const Node* user) { return index_of(user) < first; });
  }

  // Another batch_norm_grad of the same dy, all of whose operands are there when `first` runs.
  int other_norm(int dy, int first) const {
    for (const Node* user : users(dy)) {
      bool fits = user->op->name == "batch_norm_grad" && index_of(user) > first &&
                  user->inputs.size() == 5 && user->inputs[0] == dy &&
                  graph_.spec(user->inputs[1]) == graph_.spec(dy);
      for (size_t i = 1; fits && i < user->inputs.size(); ++i) {
        const Node* producer = graph_.producer(user->inputs[i]);
        fits = producer == nullptr || index_of(producer) < first;
      }
      if (fits) return index_of(user);
    }
    return -1;
  }

  const Graph& graph_;
  const std::vector<int>& uses_;
  Fusion& found_;
};

}  // namespace

void find_norm_fusion(const Graph& graph, const std::vector<int>& uses, Fusion& found) {
  NormFinder(graph, uses, found).find();
}

}  // namespace stoker::cuda
