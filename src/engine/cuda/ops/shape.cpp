#include "engine/cuda/kernels/shape.h"

#include <cstring>

#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(size_t(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis)
    strides[size_t(axis)] = strides[size_t(axis) + 1] * shape[axis + 1];
  return strides;
}

// A copy of all of `dims`; the caller sets strides and offsets that differ.
StridedCopy strided(const Shape& dims, const Shape& from, const Shape& to, DType dtype) {
  StridedCopy copy;
  copy.element = int(size_of(dtype));
  copy.rank = dims.rank();
  copy.elements = dims.elements();
  std::vector<int64_t> from_strides = strides_of(from), to_strides = strides_of(to);
  for (int axis = 0; axis < dims.rank(); ++axis) {
    copy.dims[axis] = dims[axis];
    copy.from_strides[axis] = from_strides[size_t(axis)];
    copy.to_strides[axis] = to_strides[size_t(axis)];
  }
  return copy;
}

void emit(Builder& b, const StridedCopy& copy, int from, int to) {
  b.emit({"own:copy", {from}, {to}}, [copy](const Launch& at) {
    StridedCopy bound = copy;
    bound.from = at.get(0);
    bound.to = at.get(1);
    run_strided_copy(bound, at.stream);
  });
}

void build_alias(Builder& b, const Node& node) { b.define_alias(node.outputs[0], node.inputs[0]); }

// Another dtype; not an alias, because passes take those for the same numbers.
void build_bitcast(Builder& b, const Node& node) {
  int from = b.input(node.inputs[0]);
  b.emit_copy(from, b.define(node.outputs[0]), bytes_of(b.spec(node.inputs[0])));
}

void build_transpose(Builder& b, const Node& node) {
  const Shape &x = b.shape(node.inputs[0]), &y = b.shape(node.outputs[0]);
  const auto& perm = node.attrs.get<Ints>("perm");
  StridedCopy copy = strided(y, y, y, b.spec(node.inputs[0]).dtype);
  std::vector<int64_t> strides = strides_of(x);
  for (int axis = 0; axis < y.rank(); ++axis)
    copy.from_strides[axis] = strides[size_t(perm[size_t(axis)])];
  int from = b.input(node.inputs[0]);
  emit(b, copy, from, b.define(node.outputs[0]));
}

void build_concat(Builder& b, const Node& node) {
  const Shape& y = b.shape(node.outputs[0]);
  auto axis = int(node.attrs.get<int64_t>("axis"));
  std::vector<int> inputs;
  for (int value : node.inputs) inputs.push_back(b.input(value));
  int to = b.define(node.outputs[0]);
  int64_t before = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& x = b.shape(node.inputs[i]);
    StridedCopy copy = strided(x, x, y, b.spec(node.inputs[i]).dtype);
    copy.to_offset = before * strides_of(y)[size_t(axis)];
    emit(b, copy, inputs[i], to);
    before += x[axis];
  }
}

void build_slice(Builder& b, const Node& node) {
  const Shape &x = b.shape(node.inputs[0]), &y = b.shape(node.outputs[0]);
  const auto& begin = node.attrs.get<Ints>("begin");
  StridedCopy copy = strided(y, x, y, b.spec(node.inputs[0]).dtype);
  for (int axis = 0; axis < y.rank(); ++axis)
    copy.from_offset += begin[size_t(axis)] * copy.from_strides[axis];
  int from = b.input(node.inputs[0]);
  emit(b, copy, from, b.define(node.outputs[0]));
}

void build_pad(Builder& b, const Node& node) {
  const Shape &x = b.shape(node.inputs[0]), &y = b.shape(node.outputs[0]);
  const auto& before = node.attrs.get<Ints>("before");
  DType dtype = b.spec(node.inputs[0]).dtype;
  StridedCopy copy = strided(x, x, y, dtype);
  for (int axis = 0; axis < x.rank(); ++axis)
    copy.to_offset += before[size_t(axis)] * copy.to_strides[axis];
  Tensor value = Tensor::full({}, node.attrs.get_or<double>("value", 0), dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, value.raw(), size_of(dtype));
  int from = b.input(node.inputs[0]), to = b.define(node.outputs[0]);
  b.emit({"own:pad", {from}, {to}}, [copy, bits, total = y.elements()](const Launch& at) {
    run_fill(at.get(1), copy.element, total, bits, at.stream);
    StridedCopy bound = copy;
    bound.from = at.get(0);
    bound.to = at.get(1);
    run_strided_copy(bound, at.stream);
  });
}

}  // namespace

void add_shape_builders(OpBuilders& table) {
  table["reshape"] = {build_alias};
  table["identity"] = {build_alias};
  table["bitcast"] = {build_bitcast};
  table["transpose"] = {build_transpose};
  table["concat"] = {build_concat};
  table["slice"] = {build_slice};
  table["pad"] = {build_pad};
}

}  // namespace stoker::cuda
