// Factorisations of matrices, and solutions of linear equations.
#pragma once

#include "graph/op.h"

namespace stoker {

void register_linalg_ops(OpRegistry& registry);

Ints swapped_last(int rank);  // the permutation that transposes matrices [.., n, m]

}  // namespace stoker
