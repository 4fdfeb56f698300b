// Factorisations of matrices, and solutions of linear equations.
#pragma once

#include "graph/op.h"

namespace stoker {

void register_linalg_ops(OpRegistry& registry);

// Of the op factorize, fn "eig".
Value eig_gradient(const GradientCall& call);

Ints swapped_last(int rank);  // the permutation that transposes matrices [.., n, m]

}  // namespace stoker
