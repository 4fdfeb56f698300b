#include "nn/initializers/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/initializers/isa/kernels.h"

namespace stoker {

namespace {

using Column = std::vector<double>;

double dot(const Column& a, const Column& b) {
  return draw::kernels().dot(a.data(), b.data(), int64_t(a.size()));
}

void subtract_projection(Column& from, const Column& unit) {
  draw::kernels().subtract(from.data(), unit.data(), dot(from, unit), int64_t(from.size()));
}

// Gram–Schmidt, each column twice, which makes it as exact as Householder's QR. The lengths it
// divides by are positive: that is R's diagonal, so that the sign of Q, open in a QR, is the one
// that makes Q uniform.
void orthonormalize(std::vector<Column>& columns) {
  for (size_t current = 0; current < columns.size(); ++current) {
    for (int pass = 0; pass < 2; ++pass)
      for (size_t earlier = 0; earlier < current; ++earlier)
        subtract_projection(columns[current], columns[earlier]);
    double length = std::sqrt(dot(columns[current], columns[current]));
    for (double& value : columns[current]) value /= length;
  }
}

}  // namespace

Tensor orthogonal(const Shape& shape, const RandomSequence& sequence, double gain) {
  if (shape.rank() < 2)
    throw ShapeError("Orthogonal: expected a shape of 2 or more dimensions, got " +
                     to_string(shape));
  int64_t cols = shape[-1], rows = cols == 0 ? 0 : shape.elements() / cols;
  std::vector<Column> columns(size_t(std::min(rows, cols)), Column(size_t(std::max(rows, cols))));
  Tensor drawn = normal_values(shape, sequence, 0, 1);
  const float* next = drawn.data<float>();
  for (Column& column : columns)
    for (double& value : column) value = double(*next++);
  orthonormalize(columns);
  Tensor tensor(DType::float32, shape);
  float* out = tensor.data_mut<float>();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      *out++ = float(gain * (rows >= cols ? columns[size_t(col)][size_t(row)]
                                          : columns[size_t(row)][size_t(col)]));
  return tensor;
}

}  // namespace stoker
