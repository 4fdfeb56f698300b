// The two comparisons that every op goes through. Both return what is wrong, or nothing.
#pragma once

#include <string>

#include "engine/backend.h"
#include "support/op_cases.h"

namespace stoker::test {

// "" when every element of every output lies within its tolerance; else the worst one. NaN never
// does.
std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                       const Tolerances& tolerances);

// Runs a case on `backend` and on the reference, with inputs drawn from `seed`.
std::string compare_with_reference(Backend& backend, const std::string& op, const OpCase& op_case,
                                   DType dtype, uint64_t seed);

// Compares gradients() of a random weighted sum with central differences, on the exact reference,
// for every float input. Order 1: a sum of the op's outputs; order 2: of its gradients by all float
// inputs. `outputs`: how many of the outputs carry a gradient.
std::string check_gradient(const std::string& op, const OpCase& op_case, DType dtype,
                           size_t outputs, int order = 1);

}  // namespace stoker::test
