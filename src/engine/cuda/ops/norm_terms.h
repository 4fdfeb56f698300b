// What the builders of batch norm and of what is fused with it share.
#pragma once

#include "engine/cuda/kernels/batch_norm.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

// Appends the buffers of a batch_norm's terms to `reads`: mean, variance, gamma, beta.
void add_terms(Builder& b, const Node& norm, int mean, int variance, std::vector<int>& reads);

// The terms whose first operand is number `first`.
inline NormTerms bind_terms(const Launch& at, size_t first, float epsilon) {
  return {at.get<const float>(first), at.get<const float>(first + 1),
          at.get<const float>(first + 2), at.get<const float>(first + 3), epsilon};
}

inline float epsilon_of(const Node& node) { return float(node.attrs.get<double>("epsilon")); }

// The gradient's sums over x's rows, as the mask asks.
ColumnCall grad_sums(const Builder& b, const Node& node, const Shape& shape, ReluMask mask);

}  // namespace stoker::cuda
