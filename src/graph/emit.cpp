#include "graph/emit.h"

#include "graph/op.h"

namespace stoker::emit {

Value unary(std::string fn, const Value& x, double alpha, double beta) {
  return apply1("unary", {x}, {{"fn", std::move(fn)}, {"alpha", alpha}, {"beta", beta}});
}

Value binary(std::string fn, const Value& a, const Value& b) {
  return apply1("binary", {a, b}, {{"fn", std::move(fn)}});
}

Value compare(std::string fn, const Value& a, const Value& b) {
  return apply1("compare", {a, b}, {{"fn", std::move(fn)}});
}

Value select(const Value& condition, const Value& a, const Value& b) {
  return apply1("select", {condition, a, b});
}

// 0 · x is 0 or NaN, and NaN equals nothing.
Value is_finite(const Value& x) { return compare("equal", x * 0.0, 0.0); }

Value cast(const Value& x, DType dtype) {
  // A float of a sketch is kept in 16 bits where the policy says so.
  bool settled = x.sketched() == nullptr || !is_floating(dtype);
  if (x.dtype() == dtype && settled) return x;
  return apply1("cast", {x}, {{"dtype", std::string(name(dtype))}});
}

Value reduce(std::string fn, const Value& x, Ints axes, bool keepdims) {
  return apply1("reduce", {x},
                {{"fn", std::move(fn)}, {"axes", std::move(axes)}, {"keepdims", keepdims}});
}

Value reshape(const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return apply1("reshape", {x}, {{"shape", dims(shape)}});
}

Value transpose(const Value& x, Ints perm) {
  return apply1("transpose", {x}, {{"perm", std::move(perm)}});
}

Value broadcast_to(const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return apply1("broadcast_to", {x}, {{"shape", dims(shape)}});
}

Value slice(const Value& x, Ints begin, Ints size) {
  return apply1("slice", {x}, {{"begin", std::move(begin)}, {"size", std::move(size)}});
}

Value matmul(const Value& a, const Value& b, bool transpose_a, bool transpose_b) {
  return apply1("matmul", {a, b},
                {{"transpose_a", transpose_a},
                 {"transpose_b", transpose_b},
                 {"activation", std::string()},
                 {"alpha", 0.0}});
}

Value sum_to(const Value& x, const Shape& shape) {
  const Shape& wide = x.shape();
  int added = wide.rank() - shape.rank();
  Ints axes;
  for (int axis = 0; axis < wide.rank(); ++axis)
    if (axis < added || (shape[axis - added] == 1 && wide[axis] != 1)) axes.push_back(axis);
  if (axes.empty()) return x;
  return reshape(reduce("sum", x, std::move(axes), false), shape);
}

}  // namespace stoker::emit
