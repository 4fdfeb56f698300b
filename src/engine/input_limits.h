// Indices that a host can check before a step: class ids, embedding indices.
#pragma once

#include <string>

#include <stoker/tensor.h>

#include "graph/graph.h"

namespace stoker {

// What is wrong with an input that has a limit: "class id 3 at element 1 is outside [0, 3)", or
// "class id 0.5 at element 1 is not a whole number"; empty: nothing.
std::string limit_violation(const InputLimit& limit, const Tensor& tensor);

}  // namespace stoker
