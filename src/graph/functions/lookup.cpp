// Lookup, randomness and losses.
#include <stoker/ops.h>

#include "graph/op.h"

namespace stoker::ops {

Value gather(const Value& table, const Value& indices) {
  return apply1("gather", {table, indices});
}

Value one_hot(const Value& indices, int64_t depth, DType dtype) {
  return apply1("one_hot", {indices}, {{"depth", depth}, {"dtype", std::string(name(dtype))}});
}

Value in_top_k(const Value& predictions, const Value& targets, int k) {
  return apply1("in_top_k", {predictions, targets}, {{"k", int64_t(k)}});
}

Value dropout(const Value& x, const Value& state, double rate, int64_t stream) {
  return apply1("dropout", {x, state}, {{"rate", rate}, {"stream", stream}});
}

Value sparse_softmax_cross_entropy(const Value& logits, const Value& labels) {
  return apply1("sparse_softmax_cross_entropy", {logits, labels});
}

Value softmax_cross_entropy(const Value& logits, const Value& targets) {
  return apply1("softmax_cross_entropy", {logits, targets});
}

Value sigmoid_cross_entropy(const Value& logits, const Value& targets) {
  return apply1("sigmoid_cross_entropy", {logits, targets});
}

}  // namespace stoker::ops
