// Shorthand for the nodes that composed functions, gradient rules and operators emit again and
// again, with every attribute in its canonical form.
#pragma once

#include <string>

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker::emit {

Value unary(std::string fn, const Value& x, double alpha = 0, double beta = 0);
Value binary(std::string fn, const Value& a, const Value& b);
Value compare(std::string fn, const Value& a, const Value& b);
Value select(const Value& condition, const Value& a, const Value& b);
Value is_finite(const Value& x);          // bool, elementwise
Value cast(const Value& x, DType dtype);  // x itself when it has the dtype

Value reduce(std::string fn, const Value& x, Ints axes,
             bool keepdims);                        // axes non-negative, ascending
Value reshape(const Value& x, const Shape& shape);  // x itself when it has the shape
Value transpose(const Value& x, Ints perm);
Value broadcast_to(const Value& x, const Shape& shape);  // x itself when it has the shape
Value slice(const Value& x, Ints begin, Ints size);
Value matmul(const Value& a, const Value& b, bool transpose_a, bool transpose_b);

// `x` summed over the axes along which `shape` would be repeated to get x's: broadcasting undone.
Value sum_to(const Value& x, const Shape& shape);

inline Ints dims(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace stoker::emit
