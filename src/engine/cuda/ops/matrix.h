// A tensor as rows of the numbers that are treated alike.
#pragma once

#include <stoker/shape.h>

namespace stoker::cuda {

struct Matrix {
  int64_t rows = 1, columns = 1;
  explicit Matrix(const Shape& shape, int trailing = 1) {
    for (int axis = 0; axis < shape.rank(); ++axis)
      (axis < shape.rank() - trailing ? rows : columns) *= shape[axis];
  }
};

}  // namespace stoker::cuda
