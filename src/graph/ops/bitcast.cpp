// bitcast.
#include "graph/ops/bitcast.h"

#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

// Elements of another size change the last dimension: float32 [4] is int16 [8].
std::vector<TensorSpec> infer_bitcast(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  DType dtype = dtype_from_name(attrs.get<std::string>("dtype"));
  if (dtype == DType::bytes || dtype == DType::bool_)
    throw ShapeError(fmt::format("expected a dtype of numbers, got {}", name(dtype)));
  TensorSpec out{dtype, inputs[0].shape};
  auto from = int64_t(size_of(inputs[0].dtype)), to = int64_t(size_of(dtype));
  if (from == to) return {out};
  if (out.shape.rank() == 0 || out.shape[-1] * from % to != 0)
    throw ShapeError(
        fmt::format("{} cannot be read as {}: its last dimension has no whole number of "
                    "those; reshape it first",
                    to_string(inputs[0]), name(dtype)));
  Ints dims(out.shape.begin(), out.shape.end());
  dims.back() = dims.back() * from / to;
  out.shape = to_shape(dims);
  return {out};
}

}  // namespace

void register_bitcast_op(OpRegistry& registry) {
  registry.add({.name = "bitcast",
                .infer = infer_bitcast,
                .cost = no_flops(),
                .dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::int8,
                           DType::int16, DType::int32, DType::int64, DType::uint8}});
}

}  // namespace stoker
