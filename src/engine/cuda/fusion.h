// Which nodes run as one, decided before anything is built.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cuda/fuser/region.h"
#include "engine/cuda/special/special.h"

namespace stoker::cuda {

// Nodes that one elementwise kernel can hold.
bool is_pointwise(const Graph& graph, const Node& node);
// The kind of number a pointwise node computes with; `any` follows its neighbours.
enum class Domain : uint8_t { floats, integers, any };
Domain domain_of(const Graph& graph, const Node& node);

struct Fusion {
  // By node: the node whose kernel does its work, or -1.
  std::vector<int> into;
  // By node: a batch_norm whose result this node's kernel makes, with what is added to it.
  struct NormTail {
    int norm;           // node
    int residual;       // value
    int residual_norm;  // node: the batch_norm whose result the residual is, or -1
    bool relu;
  };
  std::vector<std::optional<NormTail>> tails;

  // By node: a batch_norm_grad that also makes its own dy.
  struct Join {
    int first, second;  // values: dy is their sum
    int y;              // value, made by a tail: dy comes through its relu
    int other;          // node: a batch_norm_grad that takes the same dy, or -1
  };
  std::vector<std::optional<Join>> joins;

  // By node: what a special case builds.
  std::map<int, std::shared_ptr<const SpecialNode>> special;

  // By node: a region of the fuser that makes its result. What is inside goes `into` the first one.
  std::map<int, std::shared_ptr<const fuser::Region>> regions = {};

  bool keeps_order = false;  // nodes run as they stand, each alone

  bool is_inlined(int node) const { return into[size_t(node)] >= 0; }
  // Whether another node's kernel makes the result of this batch_norm.
  bool is_normalized_later(int norm) const;
};

// Whether kernels may be generated while a program is built.
enum class Generated : uint8_t { no, yes };

// Batch_norm, add and relu, and their gradients; the guard over few gradients; special cases; large
// regions of elementwise ops, index maps and reductions, where kernels may be generated; chains of
// elementwise nodes over one shape, each used once, of what is left.
Fusion find_fusion(const Graph& graph, Generated generated = Generated::no);
// Special cases of single nodes alone.
Fusion no_fusion(const Graph& graph);

// The max_pool2d_grad that makes the dy of a conv2d_weight_grad, if no two windows share a pixel:
// every gradient of the pooled image then stands in dy at most once, and its sum, the bias
// gradient, can be taken over the smaller image. Else null.
const Node* pooled_gradient(const Graph& graph, const Node& weight_grad);

// Updates and clip_scales widen gradients themselves: they read what a cast to float32 reads.
void skip_gradient_casts(Graph& graph);
// Cross-entropies widen 16-bit logits themselves, and round their gradient: no float32 logits.
void skip_logit_casts(Graph& graph);

}  // namespace stoker::cuda
