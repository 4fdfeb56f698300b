// A product of a few rows with a matrix, [M, K] · [K, N] or [N, K]ᵀ: the matrix goes by once, in the
// order in which it lies in memory. For nodes with the attribute few_rows.
#pragma once

#include "engine/cpu/builder.h"

namespace stoker::cpu {

// Whether it built the node.
bool build_few_rows(Builder& b, const Node& node);

}  // namespace stoker::cpu
