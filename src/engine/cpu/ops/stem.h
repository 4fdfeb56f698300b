// The first layers of many image networks, conv2d (on at most four channels) + bias + relu +
// max_pool2d of 2×2, as one instruction, and likewise the gradients of their weights: the unpooled
// image is never written.
#pragma once

#include "engine/cpu/builder.h"

namespace stoker::cpu {

// Builds `conv` and the nodes around it if they are such a stem.
bool build_stem(Builder& builder, const Node& conv);

}  // namespace stoker::cpu
