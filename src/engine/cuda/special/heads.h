// Heads of classifiers: a dense layer, the softmax cross-entropy behind it and the gradients of
// both run as one kernel (special/kernels/head.h), with the 2×2 max pooling in front of the dense layer and
// its gradient where there is one. Found in any graph, within the limits that head_fits() states.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace stoker::cuda {

struct Head {
  // Nodes, or -1. The first of pool and matmul stands for all.
  int pool = -1, matmul = -1, loss = -1, loss_grad = -1, input_grad = -1, unpool = -1;
  std::vector<int> others;  // reshapes and casts between them

  // Values. `image` is what pooling reads; without pooling the dense layer's own input.
  int image = -1, weights = -1, bias = -1, labels = -1, slopes = -1;
  int logits = -1, losses = -1, logits_grad = -1, features_grad = -1;

  int root() const { return pool >= 0 ? pool : matmul; }
};

// `taken`: nodes that run as part of something else already.
std::vector<Head> find_heads(const Graph& graph, const std::vector<bool>& taken);

}  // namespace stoker::cuda
