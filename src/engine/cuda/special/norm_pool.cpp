// Batch norm, relu and max pooling as one (kernels/norm_pool.h), and the gradient of all that.
#include "engine/cuda/special/kernels/norm_pool.h"

#include "engine/cuda/fusion_norm.h"
#include "engine/cuda/ops/norm_terms.h"
#include "engine/cuda/ops/pool_call.h"
#include "engine/cuda/special/cases.h"

namespace stoker::cuda {

namespace {

// What a batch_norm_grad needs whose dy comes through the pooling.
struct PooledGradient {
  int first, second;  // values: the pooled image's gradient is their sum; second may be -1
  int pool_grad;      // node
};

// first[, second], winners, mean, variance, gamma, beta → sums[, what both gradients make together]
int emit_sums(Builder& b, const Node& node, const PooledGradient& join, const Node& norm,
              int dgamma, int dbeta) {
  const Node& pool_grad = b.graph().nodes()[size_t(join.pool_grad)];
  bool joins = join.second >= 0;
  ColumnCall sums = grad_sums(b, node, b.shape(pool_grad.inputs[2]), ReluMask::from_x);
  int dy = b.input(join.first);
  std::vector<int> reads = {dy, b.attachments().at(norm.outputs[0])};
  add_terms(b, norm, b.input(norm.outputs[1]), b.input(norm.outputs[2]), reads);
  std::vector<int> writes = {b.scratch(sums.plan.partial_bytes), b.zeroed(sums.plan.counter_bytes),
                             dbeta, dgamma};
  if (joins) {
    reads.push_back(b.input(join.second));
    dy = b.define(pool_grad.inputs[2]);
    writes.push_back(dy);
  }
  b.emit({"own:columns", reads, writes, "batch_norm_grad_sums"},
         [sums, joins, next = reads.size()](const Launch& at) {
           ColumnCall bound = sums;
           bound.dy = at.get(0);
           bound.x = at.get(1);
           bound.mean = at.get<const float>(2);
           bound.variance = at.get<const float>(3);
           bound.gamma = at.get<const float>(4);
           bound.beta = at.get<const float>(5);
           bound.partials = at.get(next);
           bound.counters = at.get<unsigned>(next + 1);
           bound.out = at.get(next + 2);
           bound.second_out = at.get<float>(next + 3);
           if (joins) {
             bound.second_dy = at.get(6);
             bound.dz = at.get(next + 4);
           }
           run_column_sums(bound, at.stream);
         });
  return dy;
}

// x, its terms → the maxima[, their places, their x, for the gradient]
void emit_norm_pool(Builder& b, const Node& norm, const Node& pool, bool noted) {
  int small = pool.outputs[0];
  PoolCall call = pool_call(b, pool, norm.inputs[0], small);
  std::vector<int> reads = {b.input(norm.inputs[0])}, writes;
  add_terms(b, norm, b.input(norm.outputs[1]), b.input(norm.outputs[2]), reads);
  writes.push_back(b.define(small));
  if (noted) {
    writes.push_back(b.kept(size_t(b.shape(small).elements())));
    writes.push_back(b.kept(bytes_of(b.spec(small))));
    b.attachments()[small] = writes[1];
    b.attachments()[norm.outputs[0]] = writes[2];
  }
  b.emit({"own:pool", reads, writes}, [call, noted, epsilon = epsilon_of(norm)](const Launch& at) {
    NormPool bound{call, bind_terms(at, 1, epsilon)};
    bound.pool.x = at.get(0);
    bound.pool.out = at.get(5);
    bound.pool.places = noted ? at.get<uint8_t>(6) : nullptr;
    bound.winners = noted ? at.get(7) : nullptr;
    run_norm_pool(bound, at.stream);
  });
}

void emit_norm_pool_grad(Builder& b, const Node& node, const PooledGradient& join) {
  const Node& pool_grad = b.graph().nodes()[size_t(join.pool_grad)];
  const Node& norm = *b.graph().producer(pool_grad.inputs[0]);
  int dgamma = b.define(node.outputs[1]), dbeta = b.define(node.outputs[2]);
  int dy = emit_sums(b, node, join, norm, dgamma, dbeta);
  PoolCall call = pool_call(b, pool_grad, node.inputs[1], pool_grad.inputs[2]);
  std::vector<int> reads = {b.input(node.inputs[1]), dy, b.attachments().at(pool_grad.inputs[1])};
  add_terms(b, norm, b.input(norm.outputs[1]), b.input(norm.outputs[2]), reads);
  reads.insert(reads.end(), {dgamma, dbeta});
  int dx = b.define_over(node.outputs[0], {reads[0]});
  b.emit({"own:norm", reads, {dx}}, [call, epsilon = epsilon_of(node)](const Launch& at) {
    NormPoolGrad bound{call, bind_terms(at, 3, epsilon)};
    bound.pool.x = at.get(0);
    bound.pool.dy = at.get(1);
    bound.pool.places = at.get<uint8_t>(2);
    bound.dgamma = at.get<const float>(7);
    bound.dbeta = at.get<const float>(8);
    bound.pool.out = at.get(9);
    run_norm_pool_grad(bound, at.stream);
  });
}

// --- finding them ---

// At a max_pool2d.
class NormPoolForward final : public SpecialNode {
 public:
  NormPoolForward(int norm, bool has_gradient) : norm_(norm), has_gradient_(has_gradient) {}
  void build(Builder& b, const Node& pool) const override {
    emit_norm_pool(b, b.graph().nodes()[size_t(norm_)], pool, has_gradient_);
  }
  std::vector<int> also_reads(const Graph& graph) const override {
    const Node& norm = graph.nodes()[size_t(norm_)];
    std::vector<int> values = norm.inputs;
    values.insert(values.end(), {norm.outputs[1], norm.outputs[2]});
    return values;
  }
  int normalizes() const override { return norm_; }

 private:
  int norm_;
  bool has_gradient_;
};

// At a batch_norm_grad.
class NormPoolBackward final : public SpecialNode {
 public:
  explicit NormPoolBackward(const PooledGradient& gradient) : gradient_(gradient) {}
  void build(Builder& b, const Node& node) const override {
    emit_norm_pool_grad(b, node, gradient_);
  }

 private:
  PooledGradient gradient_;
};

std::string activation_of_node(const Node& node) {
  return node.attrs.get_or<std::string>("activation", "");
}

bool takes_window(const Node& pool) {
  const auto& window = pool.attrs.get<Ints>("window");
  return pool.attrs.get<Ints>("strides") == Ints{2, 2} &&
         (window == Ints{2, 2} || window == Ints{3, 3});
}

bool add_pooled_gradient(const Readers& readers, Fusion& found, const Node& norm, const Node& pool,
                         const Node& pool_grad) {
  if (!pool_grad.is("max_pool2d_grad") || pool_grad.inputs[0] != pool.inputs[0] ||
      pool_grad.inputs[1] != pool.outputs[0] || activation_of_node(pool_grad) != "relu")
    return false;
  const Node* gradient = readers.only(pool_grad.outputs[0]);
  // Beta is read again: it must not be something computed that has gone by then.
  bool fits = gradient != nullptr && gradient->is("batch_norm_grad") &&
              gradient->inputs.size() == 5 && gradient->inputs[1] == norm.inputs[0] &&
              gradient->inputs[2] == norm.inputs[1] && gradient->inputs[3] == norm.outputs[1] &&
              readers.graph().producer(norm.inputs[2]) == nullptr;
  if (!fits) return false;
  int at = readers.index_of(gradient), dy = pool_grad.inputs[2];
  PooledGradient join{dy, -1, readers.index_of(&pool_grad)};
  const Node* sum = lone_sum(readers, found, dy, readers.graph().spec(pool.outputs[0]));
  if (sum != nullptr) {
    join.first = sum->inputs[0];
    join.second = sum->inputs[1];
    found.into[size_t(readers.index_of(sum))] = at;
  }
  found.into[size_t(join.pool_grad)] = at;
  found.special[at] = std::make_shared<NormPoolBackward>(join);
  return true;
}

void add_pooled(const Readers& readers, Fusion& found, const Node& pool) {
  int large = pool.inputs[0];
  const Node* norm = readers.graph().producer(large);
  if (norm == nullptr || !norm->is("batch_norm") || norm->outputs[0] != large ||
      activation_of_node(*norm) != "relu" || !takes_window(pool))
    return;
  std::vector<const Node*> all = readers.all_of(large);
  if (all.empty() || all.size() > 2) return;
  for (const Node* reader : all)
    if (reader != &pool && !add_pooled_gradient(readers, found, *norm, pool, *reader)) return;
  found.special[readers.index_of(&pool)] =
      std::make_shared<NormPoolForward>(readers.index_of(norm), all.size() == 2);
}

}  // namespace

void match_norm_pools(const Readers& readers, Fusion& found) {
  for (const Node& node : readers.graph().nodes())
    if (node.is("max_pool2d")) add_pooled(readers, found, node);
}

}  // namespace stoker::cuda
