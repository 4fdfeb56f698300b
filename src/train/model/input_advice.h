// What to do about data of a shape that a model's input does not take.
#pragma once

#include <string>

#include <stoker/shape.h>

namespace stoker {

// "; call batch(n) …" for a tensor of shape `given` where rows of shape `row` were expected; empty:
// nothing is known.
std::string input_advice(const Shape& given, const Shape& row);

// The same for a batch with a tensor of no dimension at all.
inline constexpr const char* kBatchAdvice =
    "these are single samples: call batch(n) on the dataset, or give arrays a first dimension of "
    "samples";

}  // namespace stoker
