// Rewrites of a whole graph. Each keeps the graph's meaning (up to rounding) and is tested alone by
// running the graph before and after on the reference backend.
#pragma once

#include <functional>
#include <string_view>

#include "graph/graph.h"

namespace stoker::passes {

// Puts the fused forms that were offered (Graph::offer_fused) in place of the nodes they stand for,
// as far as `has_kernel` of the op and the dtype of its first operand; the rest stays as written.
// Runs before all other rewrites. Returns how many were used.
using HasKernel = std::function<bool(std::string_view op, DType dtype)>;
int use_fused_forms(Graph& graph, const HasKernel& has_kernel);

struct FusionReport {
  int bias = 0;                 // conv2d / matmul + bias
  int activation = 0;           // conv2d / matmul / batch_norm + activation
  int bias_gradient = 0;        // conv2d_weight_grad + sum of dy
  int activation_gradient = 0;  // relu's gradient into batch_norm_grad or max_pool2d_grad
};

// Bias and activation into conv2d, matmul and batch norms; relu's gradient into max_pool2d_grad and
// batch_norm_grad; the bias gradient into conv2d_weight_grad. Dead nodes are removed.
FusionReport fuse(Graph& graph);

// Zeros around an image go into the `pads` of the convolutions that read it (and of their
// gradients), and of max pooling where the image comes from relu, if nothing else reads them: the
// padded image is gone. For whole graphs, after gradients(). Returns how many pads went.
int fold_padding(Graph& graph);

// Merges nodes that compute the same thing (same op, attributes and inputs). Returns how many went.
int merge_duplicates(Graph& graph);

// Puts compositions of other ops (graph/ops/attention.h) in place of attention and attention_grad
// where `has_kernel` says that the engine cannot run the node. Returns how many went.
int compose_attention(Graph& graph, const std::function<bool(const Node&)>& has_kernel);
// Whether an engine can run the op through this pass.
bool is_composable(std::string_view op);

}  // namespace stoker::passes
