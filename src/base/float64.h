// Arrays of other programs in float64. Stoker computes in float32 at most, so they are converted
// when they are read; the first time in a process Context::out says so.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <stoker/tensor.h>

namespace stoker {

// `source` names the file. FileError for a value that float32 cannot hold.
Tensor from_float64(std::span<const double> values, const Shape& shape, const std::string& source);

}  // namespace stoker
