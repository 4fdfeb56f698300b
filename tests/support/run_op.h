// One op as a graph of its own.
#pragma once

#include <string>
#include <vector>

#include "engine/backend.h"

namespace stoker::test {

// The reference backend that keeps all bits between ops.
Backend& exact_reference();

// The outputs of one call. The inputs are graph inputs; that the backend left them alone is
// checked.
std::vector<Tensor> run_op(Backend& backend, const std::string& op, const Attrs& attrs,
                           const std::vector<Tensor>& inputs);

}  // namespace stoker::test
