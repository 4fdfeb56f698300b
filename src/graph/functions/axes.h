// Axes as people write them (negative: from the end) to axes as ops take them, and operands as
// functions take them.
#pragma once

#include <string_view>

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker {

int64_t normalize_axis(std::string_view op, int64_t axis,
                       int rank);  // ShapeError when out of range
Ints normalize_axes(std::string_view op, const Ints& axes, int rank);  // ascending; empty means all
Ints swapped(int rank, int64_t a, int64_t b);  // the permutation that exchanges two axes

// x with one axis at the end, and the way back.
Value to_last(const Value& x, int64_t axis);
Value from_last(const Value& x, int64_t axis);

// Axis i of x becomes counts[i] axes, and counts[i] axes of x become axis i, also where several extents
// are not known yet. extents: of the new axes; at most one of a group may be -1.
Value split_axes(const Value& x, const Ints& extents, const Ints& counts);
Value merge_axes(const Value& x, const Ints& counts);

// A reshape that goes where x is: a kernel usually belongs to no graph yet.
Value reshape_beside(const Value& x, const Value& kernel, const Shape& shape);

Value float_of(const Value& x);     // integers and bools as float32
Value truth(const Value& x);        // bool: not 0
Value absolute_of(const Value& x);  // of integers too

}  // namespace stoker
