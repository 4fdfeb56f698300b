// y[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]
#include "engine/reference/indexing.h"
#include "engine/reference/kernel.h"
#include "engine/reference/unary_math.h"

namespace stoker::reference {

namespace {

// One matrix of a stack, perhaps read transposed.
struct Matrix {
  const Number* data;
  int64_t row_stride, column_stride;
  Number at(int64_t row, int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }
};

Matrix matrix(const Array& stack, int64_t which, bool transposed) {
  int64_t rows = stack.shape()[-2], columns = stack.shape()[-1];
  const Number* data = stack.data.data() + which * rows * columns;
  return transposed ? Matrix{data, 1, columns} : Matrix{data, columns, 1};
}

void matmul(const Call& call) {
  const Array &a = call.in(0), &b = call.in(1);
  const Array* bias = call.inputs.size() > 2 ? &call.in(2) : nullptr;
  Array& y = call.out();
  bool transpose_a = call.attrs.get_or("transpose_a", false);
  bool transpose_b = call.attrs.get_or("transpose_b", false);
  Activation activation(call.attrs);
  int64_t rows = y.shape()[-2], columns = y.shape()[-1];
  int64_t inner = a.shape()[transpose_a ? -2 : -1];
  int64_t stack = rows * columns == 0 ? 0 : y.size() / (rows * columns);
  for (int64_t which = 0; which < stack; ++which) {
    Matrix left = matrix(a, which, transpose_a);
    Matrix right = matrix(b, b.shape().rank() == 2 ? 0 : which, transpose_b);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        Number total = bias != nullptr ? (*bias)[column] : 0;
        for (int64_t k = 0; k < inner; ++k) total += left.at(row, k) * right.at(k, column);
        y[(which * rows + row) * columns + column] = activation(total);
      }
  }
}

}  // namespace

void add_matmul_kernels(KernelTable& table) { table["matmul"] = matmul; }

}  // namespace stoker::reference
