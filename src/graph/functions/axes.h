// Axes as people write them (negative: from the end) to axes as ops take them.
#pragma once

#include <string_view>

#include <stoker/attrs.h>
#include <stoker/shape.h>

namespace stoker {

int64_t normalize_axis(std::string_view op, int64_t axis,
                       int rank);  // ShapeError when out of range
Ints normalize_axes(std::string_view op, const Ints& axes, int rank);  // ascending; empty means all
Ints swapped(int rank, int64_t a, int64_t b);  // the permutation that exchanges two axes

}  // namespace stoker
