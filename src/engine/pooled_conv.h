// The first layers of many image networks: conv2d with relu, the 2×2 max pooling behind it, and
// the gradients of both. Engines that run them as one never write the unpooled image.
#pragma once

#include <optional>

#include "engine/readers.h"

namespace stoker {

struct PooledConv {
  const Node* conv = nullptr;
  const Node* pool = nullptr;
  const Node* pool_grad = nullptr;    // null in programs that do not train
  const Node* weight_grad = nullptr;  // likewise
};

// Whether a pooling or its gradient has windows of 2×2 side by side.
bool halves_image(const Node& pool);

// The nodes around `conv`, if they are such layers and nothing else reads the unpooled image or its
// gradient. Which shapes it takes is for the engine to say.
std::optional<PooledConv> find_pooled_conv(const Readers& readers, const Node& conv);

}  // namespace stoker
