#include "engine/matrix_ops.h"

namespace stoker::matrix {

Operation::Operation(const Attrs& attrs, const Shape& a, const Shape* b)
    : fn(attrs.get<std::string>("fn")), n(a[-2]), m(a[-1]), k(b != nullptr ? (*b)[-1] : 0) {
  for (int axis = 0; axis + 2 < a.rank(); ++axis) batch *= a[axis];
}

}  // namespace stoker::matrix
