// Batch norm, relu and max pooling as one (kernels/norm_pool.h), and the gradient of all that.
#include "engine/cuda/kernels/norm_pool.h"

#include "engine/cuda/ops/norm_terms.h"
#include "engine/cuda/ops/pool_call.h"

namespace stoker::cuda {

namespace {

bool has_gradient(const Builder& b, const Node& pool) {
  for (const auto& join : b.fusion().joins)
    if (join && join->pool >= 0 &&
        b.graph().nodes()[size_t(join->pool)].inputs[1] == pool.outputs[0])
      return true;
  return false;
}

// first[, second], winners, mean, variance, gamma, beta → sums[, what both gradients make together]
int emit_sums(Builder& b, const Node& node, const Fusion::Join& join, const Node& norm, int dgamma,
              int dbeta) {
  const Node& pool_grad = b.graph().nodes()[size_t(join.pool)];
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

}  // namespace

// x, its terms → the maxima[, their places, their x]
void emit_norm_pool(Builder& b, const Node& norm, const Node& pool) {
  int small = pool.outputs[0];
  PoolCall call = pool_call(b, pool, norm.inputs[0], small);
  std::vector<int> reads = {b.input(norm.inputs[0])}, writes;
  add_terms(b, norm, b.input(norm.outputs[1]), b.input(norm.outputs[2]), reads);
  writes.push_back(b.define(small));
  bool noted = has_gradient(b, pool);
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

void emit_norm_pool_grad(Builder& b, const Node& node, const Fusion::Join& join) {
  const Node& pool_grad = b.graph().nodes()[size_t(join.pool)];
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

}  // namespace stoker::cuda
