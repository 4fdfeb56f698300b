#include "graph/ops/shape_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/text.h"

namespace stoker::rules {

std::vector<DType> floats() { return {DType::float32, DType::float16, DType::bfloat16}; }

std::vector<DType> integers() { return {DType::int32, DType::int64}; }

std::vector<DType> numbers() {
  return {DType::float32, DType::float16, DType::bfloat16, DType::int32, DType::int64};
}

std::vector<DType> all_but_bytes() {
  return {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int16,
          DType::int32,   DType::int64,   DType::uint8,    DType::bool_};
}

void expect_count(Specs inputs, size_t least, size_t most) {
  if (inputs.size() >= least && inputs.size() <= most) return;
  std::string expected =
      least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  throw ShapeError(fmt::format("expected {} inputs, got {}", expected, inputs.size()));
}

void expect_rank(const TensorSpec& spec, int rank, std::string_view what) {
  if (spec.shape.rank() != rank)
    throw ShapeError(fmt::format("expected {}, got {}", what, to_string(spec.shape)));
}

void expect_least_rank(const TensorSpec& spec, int rank, std::string_view what) {
  if (spec.shape.rank() < rank)
    throw ShapeError(fmt::format("expected {} of at least {} dimension{}, got {}", what, rank,
                                 rank == 1 ? "" : "s", to_string(spec.shape)));
}

void expect_shape(const TensorSpec& spec, const Shape& shape, std::string_view what) {
  if (spec.shape != shape)
    throw ShapeError(fmt::format("expected {} of shape {}, got {}", what, to_string(shape),
                                 to_string(spec.shape)));
}

void expect_spec(const TensorSpec& spec, const TensorSpec& expected, std::string_view what) {
  if (spec != expected)
    throw ShapeError(
        fmt::format("expected {} {}, got {}", what, to_string(expected), to_string(spec)));
}

void expect_dtype(const TensorSpec& spec, std::span<const DType> dtypes, std::string_view what) {
  if (std::ranges::find(dtypes, spec.dtype) == dtypes.end())
    throw ShapeError(fmt::format("expected {} of dtype {}, got {}; ops::cast converts it", what,
                                 list_text(
                                     dtypes, [](DType dtype) { return name(dtype); }, " or "),
                                 name(spec.dtype)));
}

void expect_dtype(const TensorSpec& spec, DType dtype, std::string_view what) {
  expect_dtype(spec, std::span(&dtype, 1), what);
}

void expect_axis(int64_t axis, const Shape& shape) {
  if (axis < 0 || axis >= shape.rank())
    throw ShapeError(fmt::format("axis {} does not exist in {}", axis, to_string(shape)));
}

void expect_length(const Ints& values, size_t length, std::string_view attribute) {
  if (values.size() != length)
    throw ShapeError(
        fmt::format("expected {} values for {}, got {}", length, attribute, values.size()));
}

void expect_function(const Attrs& attrs, std::span<const std::string_view> known) {
  const auto& fn = attrs.get<std::string>("fn");
  if (std::ranges::find(known, fn) == known.end())
    throw ValueError(fmt::format("unknown function \"{}\"; there are {}", fn,
                                 list_text(known, [](std::string_view name) { return name; })));
}

Shape to_shape(const Ints& dims) { return Shape(std::span<const int64_t>(dims)); }

Shape leading(const Shape& shape, int count) { return Shape(shape.dims().first(size_t(count))); }

Shape trailing(const Shape& shape, int count) { return Shape(shape.dims().last(size_t(count))); }

double elements(const TensorSpec& spec) { return double(spec.shape.elements()); }

double bytes(const TensorSpec& spec) { return elements(spec) * double(size_of(spec.dtype)); }

Cost cost_of(double flops, Specs inputs, Specs outputs) {
  Cost cost{.flops = flops, .bytes = 0};
  for (const TensorSpec& spec : inputs) cost.bytes += bytes(spec);
  for (const TensorSpec& spec : outputs) cost.bytes += bytes(spec);
  return cost;
}

CostRule elementwise_cost(double per_element) {
  return [per_element](const Attrs&, Specs inputs, Specs outputs) {
    double most = 0;
    for (const TensorSpec& spec : inputs) most = std::max(most, elements(spec));
    for (const TensorSpec& spec : outputs) most = std::max(most, elements(spec));
    return cost_of(per_element * most, inputs, outputs);
  };
}

CostRule no_flops() {
  return [](const Attrs&, Specs inputs, Specs outputs) { return cost_of(0, inputs, outputs); };
}

Infer same_as_first(size_t inputs) {
  return [inputs](const Attrs&, Specs specs) -> std::vector<TensorSpec> {
    expect_count(specs, inputs);
    return {specs[0]};
  };
}

InPlace shares(std::vector<std::pair<int, int>> pairs) {
  return [pairs = std::move(pairs)](const Attrs&, size_t) { return pairs; };
}

}  // namespace stoker::rules
