// What the three ways of running a recurrent layer share.
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

// y[rows, columns] = op(x) · op(w) [+ bias]; bias: -1 for none.
void emit_recurrent_product(Builder& b, MatmulKey key, int x, int w, int y, int bias = -1);

// What the forward node of a recurrent_grad has left for it: its first kept buffer, or -1 where it
// has left nothing.
int find_recurrent_kept(Builder& b, const Node& grad, const RecurrentShape& s);

// One kernel for all steps (kernels/recurrent_cluster.h): 16-bit LSTMs and GRUs, with and without
// masks. False, and nothing happens, where it does not apply.
bool build_recurrent_cluster(Builder& b, const Node& node);
bool build_recurrent_cluster_grad(Builder& b, const Node& node);

// A product and a kernel per step: masks, and what cuDNN does not have.
void build_recurrent_loop(Builder& b, const Node& node);
void build_recurrent_loop_grad(Builder& b, const Node& node);

}  // namespace stoker::cuda
