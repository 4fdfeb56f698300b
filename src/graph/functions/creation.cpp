// New tensors, windows, and the parts of a matrix around its diagonals.
#include <cmath>
#include <functional>
#include <numbers>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"

namespace stoker::ops {

namespace {

// A tensor from a function of its place.
Tensor made(int64_t rows, int64_t columns, DType dtype,
            const std::function<double(int64_t, int64_t)>& element) {
  Tensor tensor(DType::float32, {rows, columns});
  auto* out = tensor.data_mut<float>();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      out[row * columns + column] = float(element(row, column));
  return dtype == DType::float32 ? tensor : tensor.cast(dtype);
}

Tensor vector(const std::vector<double>& values, DType dtype = DType::float32) {
  return Tensor::from(values, {int64_t(values.size())}).cast(dtype);
}

// The bool matrix that says where tril (lower) or triu keeps an element.
Value triangle(const Shape& shape, int64_t k, bool lower) {
  if (shape.rank() < 2)
    throw ShapeError(fmt::format("{}: expected a matrix [.., n, m], got {}",
                                 lower ? "tril" : "triu", to_string(shape)));
  return made(shape[-2], shape[-1], DType::bool_, [&](int64_t row, int64_t column) {
    return lower ? column - row <= k : column - row >= k;
  });
}

Value window(int64_t length, const std::function<double(double)>& shape) {
  if (length < 1) throw ValueError(fmt::format("a window has 1 element or more, got {}", length));
  std::vector<double> values;
  for (int64_t i = 0; i < length; ++i)
    values.push_back(length == 1 ? 1 : shape(double(i) / double(length - 1)));
  return vector(values);
}

std::vector<double> spaced(const char* what, double start, double stop, const Spaced& options) {
  if (options.num < 1)
    throw ValueError(fmt::format("{}: num must be 1 or more, got {}", what, options.num));
  int64_t steps = options.endpoint ? options.num - 1 : options.num;
  std::vector<double> values;
  for (int64_t i = 0; i < options.num; ++i)
    values.push_back(steps == 0 ? start : start + (stop - start) * double(i) / double(steps));
  if (options.endpoint && options.num > 1) values.back() = stop;
  return values;
}

}  // namespace

Value zeros(const Shape& shape, DType dtype) { return Tensor::zeros(shape, dtype); }
Value ones(const Shape& shape, DType dtype) { return Tensor::full(shape, 1, dtype); }
Value full(const Shape& shape, double value, DType dtype) {
  return Tensor::full(shape, value, dtype);
}
Value empty(const Shape& shape, DType dtype) { return zeros(shape, dtype); }

// An element is never less than itself: false for NaN too, and for any batch.
Value zeros_like(const Value& x, std::optional<DType> dtype) {
  return emit::cast(emit::compare("less", x, x), dtype.value_or(x.dtype()));
}
Value ones_like(const Value& x, std::optional<DType> dtype) {
  return emit::cast(
      emit::compare("equal", emit::compare("less", x, x), Tensor::full({}, 0, DType::bool_)),
      dtype.value_or(x.dtype()));
}
Value full_like(const Value& x, const Value& value, std::optional<DType> dtype) {
  Value wanted = value.scalar()
                     ? Value(Tensor::full({}, *value.scalar(), dtype.value_or(x.dtype())))
                     : emit::cast(value, dtype.value_or(x.dtype()));
  return emit::select(emit::compare("less", x, x), wanted, wanted);
}
Value empty_like(const Value& x, std::optional<DType> dtype) { return zeros_like(x, dtype); }

Value arange(Step stop) { return arange(Step(0), stop); }

Value arange(Step start, Step stop, Step step, std::optional<DType> dtype) {
  if (step.value == 0) throw ValueError("arange: the step is 0");
  bool whole = start.whole && stop.whole && step.whole;
  double count = std::max(0.0, std::ceil((stop.value - start.value) / step.value));
  constexpr double kMost = 0x1p32;
  if (!(count <= kMost))
    throw ValueError(
        fmt::format("arange: from {} to {} in steps of {} are {} numbers, expected at "
                    "most 2^32",
                    start.value, stop.value, step.value, count));
  DType kind = dtype.value_or(whole ? DType::int32 : DType::float32);
  double last = start.value + (count - 1) * step.value;
  for (double end : {start.value, last})
    if (count > 0 && is_integer(kind) && !holds(kind, std::trunc(end)))
      throw ValueError(
          fmt::format("arange: {} cannot hold {}; say which dtype can: arange({}, {}, "
                      "{}, DType::int64)",
                      name(kind), end, start.value, stop.value, step.value));
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start.value + double(i) * step.value;
  if (is_floating(kind)) return vector(values, kind);
  std::vector<int64_t> integers(values.begin(), values.end());
  return Tensor::from(integers, {int64_t(integers.size())}).cast(kind);
}

Value linspace(double start, double stop, const Spaced& options) {
  return vector(spaced("linspace", start, stop, options));
}

Value logspace(double start, double stop, const Spaced& options) {
  std::vector<double> values = spaced("logspace", start, stop, options);
  for (double& value : values) value = std::pow(10, value);
  return vector(values);
}

Value geomspace(double start, double stop, const Spaced& options) {
  if (!(start * stop > 0))
    throw ValueError(
        fmt::format("geomspace: {} and {} must have one sign and not be 0", start, stop));
  std::vector<double> values = spaced("geomspace", 0, 1, options);
  for (double& value : values) value = start * std::pow(stop / start, value);
  return vector(values);
}

Value eye(int64_t rows, const Diagonal& options) {
  return made(rows, options.columns.value_or(rows), options.dtype,
              [&](int64_t row, int64_t column) { return column - row == options.k; });
}
Value identity(int64_t rows, DType dtype) { return eye(rows, {.dtype = dtype}); }
Value tri(int64_t rows, const Diagonal& options) {
  return made(rows, options.columns.value_or(rows), options.dtype,
              [&](int64_t row, int64_t column) { return column - row <= options.k; });
}

// --- windows: of t from 0 to 1 ---

Value bartlett(int64_t length) {
  return window(length, [](double t) { return 1 - std::abs(2 * t - 1); });
}
Value hanning(int64_t length) {
  return window(length, [](double t) { return 0.5 - 0.5 * std::cos(2 * std::numbers::pi * t); });
}
Value hamming(int64_t length) {
  return window(length, [](double t) { return 0.54 - 0.46 * std::cos(2 * std::numbers::pi * t); });
}
Value blackman(int64_t length) {
  return window(length, [](double t) {
    return 0.42 - 0.5 * std::cos(2 * std::numbers::pi * t) +
           0.08 * std::cos(4 * std::numbers::pi * t);
  });
}
Value kaiser(int64_t length, double beta) {
  return window(length, [beta](double t) {
    double side = 2 * t - 1;
    return std::cyl_bessel_i(0, beta * std::sqrt(std::fmax(0, 1 - side * side))) /
           std::cyl_bessel_i(0, beta);
  });
}

// --- matrices ---

Value tril(const Value& x, int64_t k) { return emit::select(triangle(x.shape(), k, true), x, 0.0); }
Value triu(const Value& x, int64_t k) {
  return emit::select(triangle(x.shape(), k, false), x, 0.0);
}

// The two axes become one, of which every (columns + 1)-th element is taken.
Value diagonal(const Value& x, int64_t offset, int axis1, int axis2) {
  int rank = x.shape().rank();
  if (rank < 2)
    throw ShapeError(fmt::format("diagonal: expected a matrix, got {}", to_string(x.shape())));
  Value matrix = moveaxis(x, {axis1, axis2}, {-2, -1});
  int64_t rows = matrix.shape()[-2], columns = matrix.shape()[-1];
  Ints places;
  for (int64_t row = 0; row < rows; ++row)
    if (row + offset >= 0 && row + offset < columns) places.push_back(row * columns + row + offset);
  Ints flat(matrix.shape().begin(), matrix.shape().end() - 1);
  flat.back() = rows * columns;
  Value all = emit::reshape(matrix, Shape(std::span<const int64_t>(flat)));
  return take(all, Tensor::from(places, {int64_t(places.size())}), -1);
}

Value trace(const Value& x, int64_t offset, int axis1, int axis2) {
  return sum(diagonal(x, offset, axis1, axis2), {.axes = {-1}});
}

Value diag(const Value& x, int64_t k) {
  if (x.shape().rank() == 2) return diagonal(x, k);
  if (x.shape().rank() != 1)
    throw ShapeError(
        fmt::format("diag: expected a vector or a matrix, got {}", to_string(x.shape())));
  int64_t n = x.shape()[0], size = n + std::abs(k);
  Value wide = k >= 0 ? pad(x, {k}, {0}) : pad(x, {0}, {-k});  // by column
  return emit::select(Value(made(size, size, DType::bool_,
                                 [&](int64_t row, int64_t column) { return column - row == k; })),
                      emit::broadcast_to(wide, {size, size}), 0.0);
}

Value diagflat(const Value& x, int64_t k) { return diag(ravel(x), k); }

Value vander(const Value& x, std::optional<int64_t> columns, bool increasing) {
  if (x.shape().rank() != 1)
    throw ShapeError(fmt::format("vander: expected a vector, got {}", to_string(x.shape())));
  int64_t count = columns.value_or(x.shape()[0]);
  Values powers;
  for (int64_t i = 0; i < count; ++i) powers.push_back(i == 0 ? ones_like(x) : powers.back() * x);
  Value table = stack(powers, -1);
  return increasing ? table : flip(table, {-1});
}

Values meshgrid(const Values& axes, const std::string& indexing) {
  if (indexing != "xy" && indexing != "ij")
    throw ValueError(
        fmt::format("meshgrid: indexing must be \"xy\" or \"ij\", got \"{}\"", indexing));
  bool exchanged = indexing == "xy" && axes.size() > 1;
  Ints dims;
  for (const Value& axis : axes) {
    if (axis.shape().rank() > 1)
      throw ShapeError(fmt::format("meshgrid: expected vectors, got {}", to_string(axis.shape())));
    dims.push_back(axis.shape().elements());
  }
  if (exchanged) std::swap(dims[0], dims[1]);
  Values grids;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t place = exchanged && i < 2 ? 1 - i : i;
    Ints alone(dims.size(), 1);
    alone[place] = dims[place];
    grids.push_back(
        emit::broadcast_to(emit::reshape(axes[i], Shape(std::span<const int64_t>(alone))),
                           Shape(std::span<const int64_t>(dims))));
  }
  return grids;
}

}  // namespace stoker::ops
