// What the op families share: checks whose errors say what was expected and got, dtype sets, costs.
// The errors need not name the op, the layer or the inputs: infer() adds them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace stoker::rules {

using Specs = std::span<const TensorSpec>;
using Infer = decltype(OpDef::infer);
using CostRule = decltype(OpDef::cost);
using InPlace = decltype(OpDef::in_place);

// --- dtypes of a main operand ---
std::vector<DType> floats();
std::vector<DType> integers();  // int32, int64
std::vector<DType> numbers();   // both
std::vector<DType> all_but_bytes();

// --- checks ---
void expect_count(Specs inputs, size_t least, size_t most);
inline void expect_count(Specs inputs, size_t count) { expect_count(inputs, count, count); }
void expect_rank(const TensorSpec& spec, int rank,
                 std::string_view what);  // what: "4-D input [B, H, W, C]"
void expect_least_rank(const TensorSpec& spec, int rank, std::string_view what);
void expect_shape(const TensorSpec& spec, const Shape& shape, std::string_view what);
void expect_spec(const TensorSpec& spec, const TensorSpec& expected, std::string_view what);
void expect_dtype(const TensorSpec& spec, std::span<const DType> dtypes, std::string_view what);
void expect_dtype(const TensorSpec& spec, DType dtype, std::string_view what);
void expect_axis(int64_t axis, const Shape& shape);  // already non-negative
// The attribute "fn" is one of `known`, else a ValueError that lists them.
void expect_function(const Attrs& attrs, std::span<const std::string_view> known);
void expect_length(const Ints& values, size_t length, std::string_view attribute);

// --- shapes ---
Shape to_shape(const Ints& dims);
Shape leading(const Shape& shape, int count);   // the first dimensions
Shape trailing(const Shape& shape, int count);  // the last ones

// --- costs ---
double elements(const TensorSpec& spec);
double bytes(const TensorSpec& spec);
Cost cost_of(double flops, Specs inputs, Specs outputs);
// `per_element` operations an element of the largest of inputs and outputs.
CostRule elementwise_cost(double per_element);
CostRule no_flops();  // only moves memory

// --- pieces of a definition ---
Infer same_as_first(size_t inputs);  // the one output is like the first input
InPlace shares(std::vector<std::pair<int, int>> pairs);

}  // namespace stoker::rules
