// Which nodes run as one, decided before anything is built.
#pragma once

#include <optional>
#include <vector>

#include "engine/cuda/heads.h"

namespace stoker::cuda {

// Nodes that one elementwise kernel can hold.
bool is_pointwise(const Graph& graph, const Node& node);
// The kind of number a pointwise node computes with; `any` follows its neighbours.
enum class Domain : uint8_t { floats, integers, any };
Domain domain_of(const Graph& graph, const Node& node);

struct Fusion {
  // By node: the node whose kernel does its work, or -1.
  std::vector<int> into;
  // By node: a batch_norm whose result this node's kernel makes, with what is added to it. A
  // max_pool2d takes the maxima of it at once.
  struct NormTail {
    int norm;           // node
    int residual;       // value, or -1
    int residual_norm;  // node: the batch_norm whose result the residual is, or -1
    bool relu;
  };
  std::vector<std::optional<NormTail>> tails;

  // By node: the one-channel convolution whose pooled result this max_pool2d makes, and the
  // max_pool2d_grad whose work this conv2d_weight_grad does on the way; else -1.
  std::vector<int> stems;

  // By node: the reduce that sums what this matmul's second operand is over its rows: a bias
  // gradient, made on the way; else -1.
  std::vector<int> bias_sums;

  // By node: the head of a classifier that this node stands for.
  std::vector<std::optional<Head>> heads;

  // By node: a batch_norm_grad that also makes its own dy.
  struct Join {
    int first, second;  // values: dy is their sum; second may be -1, where there is a pool
    int y;      // value, made by a tail: dy comes through its relu; -1, where there is a pool
    int other;  // node: a batch_norm_grad that takes the same dy, or -1
    int pool;   // node: the max_pool2d_grad that dy comes through, or -1
  };
  std::vector<std::optional<Join>> joins;

  bool is_inlined(int node) const { return into[size_t(node)] >= 0; }
};

// Chains of elementwise nodes over one shape, each used once; batch_norm, add and relu, or
// batch_norm, relu and max pooling, and their gradients; conv2d, bias, relu and 2×2 max pooling
// over one channel, and its gradient with the optimiser's step; heads of classifiers.
Fusion find_fusion(const Graph& graph);
Fusion no_fusion(const Graph& graph);

// The max_pool2d_grad that makes the dy of a conv2d_weight_grad, if no two windows share a pixel:
// every gradient of the pooled image then stands in dy at most once, and its sum, the bias
// gradient, can be taken over the smaller image. Else null.
const Node* pooled_gradient(const Graph& graph, const Node& weight_grad);

// The weight gradient of a dense layer with few units over a small batch, which kernels/narrow.h
// makes.
bool is_narrow_gradient(const Graph& graph, const Node& node);

// What a stem's or a head's kernel reads for a value: where a cast of it is made on the way, the
// float32 leaf that is cast.
struct Uncast {
  int value = -1;
  bool wide = false;
};
Uncast uncast(const Graph& graph, const Fusion& fusion, int value);

// Updates and clip_scales widen gradients themselves: they read what a cast to float32 reads.
void skip_gradient_casts(Graph& graph);

}  // namespace stoker::cuda
