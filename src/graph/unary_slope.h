// The derivative of an elementwise function as a composition of differentiable ops: what second
// derivatives are made of. unary_grad computes the same number in one kernel.
#pragma once

#include <stoker/value.h>

#include "graph/unary.h"

namespace stoker {

// f'(x), from y = f(x) where the function says gradient_from_output, else from x. Undefined where
// it is constant by pieces (relu, abs): there the second derivative is zero.
Value unary_slope(const UnaryInfo& function, const Value& from, double alpha);

}  // namespace stoker
