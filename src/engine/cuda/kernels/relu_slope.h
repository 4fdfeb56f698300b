// The sum of two gradients through a relu: what every residual block needs. It is three operands
// wide, and a kernel of its own keeps more of them on their way than the interpreter does.
#pragma once

#include "engine/cuda/kernels/pointwise.h"

namespace stoker::cuda {

// Runs a program that is such an expression, with one gradient or two; false: it is another.
bool run_relu_slope(const PointwiseProgram& program, cudaStream_t stream);

}  // namespace stoker::cuda
