// batch_norm_grad where its dy is made on the way: out of two gradients that come through a relu,
// for one batch norm or for two whose results were added.
#include <optional>

#include "engine/cuda/ops/norm_terms.h"

namespace stoker::cuda {

namespace {

// A batch norm's gradient in a kernel for one or two of them. Operands: x, mean, variance, gamma.
struct Branch {
  int x, mean, variance, gamma;
  int dgamma = -1, dbeta = -1;
  float epsilon;

  Branch(Builder& b, const Node& node)
      : x(b.input(node.inputs[1])),
        mean(b.input(node.inputs[3])),
        variance(b.input(node.inputs[4])),
        gamma(b.input(node.inputs[2])),
        dgamma(b.define(node.outputs[1])),
        dbeta(b.define(node.outputs[2])),
        epsilon(epsilon_of(node)) {}
};

// first, second, bits, x, mean, variance[, the other's x, mean, variance] → dz and the sums
void emit_sums(Builder& b, const Node& node, const Fusion::Join& join, int dz, const Branch& mine,
               const Branch* other) {
  ColumnCall sums = grad_sums(b, node, b.shape(node.inputs[1]), ReluMask::from_bits);
  std::vector<int> reads = {
      b.input(join.first), b.input(join.second), b.attachments().at(join.y), mine.x,
      mine.mean,           mine.variance};
  if (other != nullptr) reads.insert(reads.end(), {other->x, other->mean, other->variance});
  std::vector<int> writes = {b.scratch(sums.plan.partial_bytes), b.zeroed(sums.plan.counter_bytes),
                             dz, mine.dbeta, mine.dgamma};
  if (other != nullptr) {
    sums.other.epsilon = other->epsilon;
    writes.insert(writes.end(), {other->dbeta, other->dgamma});
  }
  b.emit({"own:columns", reads, writes, "batch_norm_grad_sums"},
         [sums, next = reads.size(), shares = other != nullptr](const Launch& at) {
           ColumnCall bound = sums;
           bound.dy = at.get(0);
           bound.second_dy = at.get(1);
           bound.bits = at.get<const uint8_t>(2);
           bound.x = at.get(3);
           bound.mean = at.get<const float>(4);
           bound.variance = at.get<const float>(5);
           bound.partials = at.get(next);
           bound.counters = at.get<unsigned>(next + 1);
           bound.dz = at.get(next + 2);
           bound.out = at.get(next + 3);
           bound.second_out = at.get<float>(next + 4);
           if (shares) {
             bound.other.x = at.get(6);
             bound.other.mean = at.get<const float>(7);
             bound.other.variance = at.get<const float>(8);
             bound.other.dbeta = at.get<float>(next + 5);
             bound.other.dgamma = at.get<float>(next + 6);
           }
           run_column_sums(bound, at.stream);
         });
}

NormInputGrad::Branch bind_branch(const Launch& at, size_t first, float epsilon) {
  NormInputGrad::Branch branch;
  branch.x = at.get(first);
  branch.norm = {at.get<const float>(first + 1), at.get<const float>(first + 2),
                 at.get<const float>(first + 3), nullptr, epsilon};
  branch.dgamma = at.get<const float>(first + 4);
  branch.dbeta = at.get<const float>(first + 5);
  return branch;
}

// dz and the sums → dx[, the other's dx]
void emit_input_grads(Builder& b, const Node& node, int dz, const Branch& mine, const Node* other,
                      const Branch* others) {
  ColumnCall like = grad_sums(b, node, b.shape(node.inputs[1]), ReluMask::none);
  NormInputGrad call;
  call.dtype = like.dtype;
  call.rows = like.rows;
  call.channels = like.channels;
  std::vector<int> reads = {dz}, writes = {b.define_over(node.outputs[0], {dz, mine.x})};
  auto add = [&](const Branch& branch) {
    reads.insert(reads.end(), {branch.x, branch.mean, branch.variance, branch.gamma, branch.dgamma,
                               branch.dbeta});
  };
  add(mine);
  if (other != nullptr) {
    add(*others);
    writes.push_back(b.define_over(other->outputs[0], {others->x}));
  }
  float other_epsilon = other != nullptr ? others->epsilon : 0;
  b.emit({"own:norm", reads, writes},
         [call, next = reads.size(), epsilon = mine.epsilon, other_epsilon](const Launch& at) {
           NormInputGrad bound = call;
           bound.dy = at.get(0);
           bound.branch = bind_branch(at, 1, epsilon);
           bound.branch.dx = at.get(next);
           if (next > 7) {
             bound.other = bind_branch(at, 7, other_epsilon);
             bound.other.dx = at.get(next + 1);
           }
           run_norm_input_grad(bound, at.stream);
         });
}

}  // namespace

void emit_joined_norm_grad(Builder& b, const Node& node, const Fusion::Join& join) {
  const Node* other = join.other >= 0 ? &b.graph().nodes()[size_t(join.other)] : nullptr;
  Branch mine(b, node);
  std::optional<Branch> others;
  if (other != nullptr) others.emplace(b, *other);
  int dz = b.define(node.inputs[0]);
  emit_sums(b, node, join, dz, mine, others ? &*others : nullptr);
  emit_input_grads(b, node, dz, mine, other, others ? &*others : nullptr);
}

}  // namespace stoker::cuda
