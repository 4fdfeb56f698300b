#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"

namespace stoker::ops {

Value reshape(const Value& x, const Shape& shape) { return emit::reshape(x, shape); }

Value flatten(const Value& x) {
  const Shape& shape = x.shape();
  if (shape.rank() == 0)
    throw ShapeError("flatten: expected at least one dimension [B, ..], got a scalar");
  return emit::reshape(x, {shape[0], shape.drop_front().elements()});
}

Value transpose(const Value& x, const std::vector<int64_t>& perm) {
  int rank = x.shape().rank();
  Ints axes;
  for (int64_t axis : perm) axes.push_back(normalize_axis("transpose", axis, rank));
  if (perm.empty())
    for (int axis = rank - 1; axis >= 0; --axis) axes.push_back(axis);
  return emit::transpose(x, axes);
}

Value concatenate(const Values& values, int axis) {
  if (values.empty()) throw ShapeError("concatenate: expected at least one value, got none");
  if (values.size() == 1) return values[0];
  return apply1("concat", values,
                {{"axis", normalize_axis("concatenate", axis, values[0].shape().rank())}});
}

Values split(const Value& x, int parts, int axis) {
  const Shape& shape = x.shape();
  int64_t at = normalize_axis("split", axis, shape.rank());
  int64_t extent = shape[int(at)];
  if (extent < 0)
    throw ShapeError("split: the batch dimension of a functional model cannot be split");
  if (parts < 1 || extent % parts != 0)
    throw ShapeError(fmt::format("split: axis {} of {} does not divide into {} equal parts", axis,
                                 to_string(shape), parts));
  Ints begin(size_t(shape.rank()), 0), size(size_t(shape.rank()), -1);
  size[size_t(at)] = extent / parts;
  Values result;
  for (int part = 0; part < parts; ++part) {
    begin[size_t(at)] = part * (extent / parts);
    result.push_back(emit::slice(x, begin, size));
  }
  return result;
}

Value slice(const Value& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& size) {
  return emit::slice(x, begin, size);
}

Value pad(const Value& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
          double value) {
  if (is_integer(x.dtype()) && !holds(x.dtype(), value))
    throw ValueError(fmt::format("pad: {} cannot hold {}; cast the values to a dtype that can",
                                 name(x.dtype()), value));
  return apply1("pad", {x}, {{"before", before}, {"after", after}, {"value", value}});
}

Value expand_dims(const Value& x, int axis) {
  Ints dims = emit::dims(x.shape());
  int64_t at = normalize_axis("expand_dims", axis, x.shape().rank() + 1);
  dims.insert(dims.begin() + at, 1);
  return emit::reshape(x, Shape(std::span<const int64_t>(dims)));
}

Value squeeze(const Value& x, int axis) {
  Ints dims = emit::dims(x.shape());
  int64_t at = normalize_axis("squeeze", axis, x.shape().rank());
  if (dims[size_t(at)] != 1)
    throw ShapeError(fmt::format("squeeze: axis {} of {} is not 1", axis, to_string(x.shape())));
  dims.erase(dims.begin() + at);
  return emit::reshape(x, Shape(std::span<const int64_t>(dims)));
}

Value broadcast_to(const Value& x, const Shape& shape) { return emit::broadcast_to(x, shape); }

Value stop_gradient(const Value& x) { return apply1("identity", {x}); }

}  // namespace stoker::ops
