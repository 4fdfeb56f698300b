#include "engine/cuda/fusion_norm.h"

#include <algorithm>
#include <string>

namespace stoker::cuda {

namespace {

std::string activation_of(const Node& node) {
  return node.attrs.get_or<std::string>("activation", "");
}

class NormFinder {
 public:
  NormFinder(const Readers& readers, Fusion& found)
      : graph_(readers.graph()), readers_(readers), found_(found) {}

  void find() {
    for (const Node& node : graph_.nodes())
      if (node.is("binary", "add")) add_tail(node);
    for (const Node& node : graph_.nodes())
      if (node.is("batch_norm_grad") && node.inputs.size() == 5) add_join(node);
  }

 private:
  int index_of(const Node* node) const { return readers_.index_of(node); }

  // --- batch_norm, + residual, relu ---

  // The batch norm that gives `value` to one node alone, as it is.
  const Node* plain_norm(int value) const {
    const Node* norm = graph_.producer(value);
    bool fits = norm != nullptr && norm->is("batch_norm") && norm->outputs[0] == value &&
                readers_.uses(value) == 1 && activation_of(*norm).empty();
    return fits ? norm : nullptr;
  }

  void add_tail(const Node& add) {
    for (size_t which = 0; which < 2; ++which) {
      int normalized = add.inputs[which], residual = add.inputs[1 - which];
      const Node* norm = plain_norm(normalized);
      if (norm == nullptr || graph_.spec(residual) != graph_.spec(normalized)) continue;
      const Node* other = plain_norm(residual);
      const Node* relu = readers_.only(add.outputs[0]);
      if (relu != nullptr && !relu->is("unary", "relu")) relu = nullptr;
      int root = index_of(relu != nullptr ? relu : &add);
      if (relu != nullptr) found_.into[size_t(index_of(&add))] = root;
      found_.tails[size_t(root)] = Fusion::NormTail{
          index_of(norm), residual, other != nullptr ? index_of(other) : -1, relu != nullptr};
      return;
    }
  }

  // --- the sum of two gradients through a relu, made by the first batch_norm_grad that takes it

  void add_join(const Node& norm) {
    int at = index_of(&norm), dy = norm.inputs[0];
    const Node* relu = graph_.producer(dy);
    if (relu == nullptr || !relu->is("unary_grad", "relu") || taken_by_another(*relu, at)) return;
    const Node* sum = lone_sum(readers_, found_, relu->inputs[1], graph_.spec(norm.inputs[1]));
    if (sum == nullptr || !comes_from_tail(relu->inputs[0])) return;
    int other = other_norm(dy, at);
    found_.into[size_t(index_of(relu))] = found_.into[size_t(index_of(sum))] = at;
    if (other >= 0) found_.into[size_t(other)] = at;
    found_.joins[size_t(at)] = Fusion::Join{sum->inputs[0], sum->inputs[1], relu->inputs[0], other};
  }

  // Whether a tail makes `y`, so that it can note where its relu let something through.
  bool comes_from_tail(int y) const {
    const Node* made = graph_.producer(y);
    if (made == nullptr) return false;
    const auto& tail = found_.tails[size_t(index_of(made))];
    return tail && tail->residual >= 0 && tail->relu;
  }

  // Whether any node needs the relu's gradient before node `first` has made it.
  bool taken_by_another(const Node& relu, int first) const {
    if (found_.is_inlined(index_of(&relu))) return true;
    return std::ranges::any_of(readers_.of(relu.outputs[0]),
                               [&](const Node* user) { return index_of(user) < first; });
  }

  // Another batch_norm_grad of the same dy, all of whose operands are there when `first` runs.
  int other_norm(int dy, int first) const {
    for (const Node* user : readers_.of(dy)) {
      bool fits = user->is("batch_norm_grad") && index_of(user) > first &&
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
  const Readers& readers_;
  Fusion& found_;
};

}  // namespace

const Node* lone_sum(const Readers& readers, const Fusion& found, int value,
                     const TensorSpec& like) {
  const Graph& graph = readers.graph();
  const Node* sum = graph.producer(value);
  bool fits = sum != nullptr && sum->is("binary", "add") && readers.uses(value) == 1 &&
              graph.spec(sum->inputs[0]) == like && graph.spec(sum->inputs[1]) == like &&
              !found.is_inlined(readers.index_of(sum)) &&
              !found.tails[size_t(readers.index_of(sum))];
  return fits ? sum : nullptr;
}

void find_norm_fusion(const Readers& readers, Fusion& found) { NormFinder(readers, found).find(); }

}  // namespace stoker::cuda
