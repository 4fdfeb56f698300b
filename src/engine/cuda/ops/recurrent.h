// What the two ways of running a recurrent layer share.
#pragma once

#include "engine/cuda/builder.h"
#include "graph/ops/recurrent.h"

namespace stoker::cuda {

std::vector<TensorSpec> recurrent_specs(const Builder& b, const Node& node);

// [B, T, n] ↔ [T, B, n] in the order of the steps.
enum class Steps : uint8_t { to_steps, from_steps };
void emit_recurrent_steps(Builder& b, const RecurrentShape& s, DType dtype, Steps way, int from,
                          int to, int64_t n);

// Whether a recurrent_grad of this graph differentiates the node.
bool has_recurrent_gradient(const Graph& graph, const Node& node, const RecurrentShape& s);

// A product and a kernel per step: masks, and what cuDNN does not have.
void build_recurrent_loop(Builder& b, const Node& node);
void build_recurrent_loop_grad(Builder& b, const Node& node);

}  // namespace stoker::cuda
