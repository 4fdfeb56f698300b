// Linear algebra, written with factorisations and solutions.
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_linalg.h>
#include <stoker/ops_math.h>
#include <stoker/ops_statistics.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/graph.h"
#include "graph/op.h"
#include "graph/ops/linalg.h"

namespace stoker::ops::linalg {

namespace {

Value as_matrices(const char* what, const Value& a) {
  if (a.shape().rank() < 2)
    throw ShapeError(
        fmt::format("{}: expected matrices [.., n, m], got {}", what, to_string(a.shape())));
  return emit::cast(a, DType::float32);
}

Values factors(const char* fn, const Value& a) {
  return apply("factorize", {as_matrices(fn, a)}, {{"fn", std::string(fn)}});
}

Value transposed(const Value& a) { return emit::transpose(a, swapped_last(a.shape().rank())); }

// Products of float32, whatever the policy's are in.
Value product(const Value& a, const Value& b) {
  std::optional<Graph::ComputeDtype> exact;
  if (a.traced()) exact.emplace(*a.traced()->graph, DType::float32);
  return matmul(a, b);
}

// Matrices and right sides of one batch; [.., n] is [.., n, 1].
Value solved(const char* what, const char* fn, const Value& a, const Value& b) {
  Value matrices = as_matrices(what, a), right = emit::cast(b, DType::float32);
  bool is_vector = right.shape().rank() == matrices.shape().rank() - 1;
  if (is_vector) right = expand_dims(right, -1);
  if (right.shape().rank() < 2)
    throw ShapeError(
        fmt::format("{}: expected [.., n] or [.., n, k], got {}", what, to_string(b.shape())));
  Ints left_batch(matrices.shape().begin(), matrices.shape().end() - 2),
      right_batch(right.shape().begin(), right.shape().end() - 2);
  Shape batch = broadcast(Shape(std::span<const int64_t>(left_batch)),
                          Shape(std::span<const int64_t>(right_batch)));
  auto widened = [&](const Value& x) {
    Ints dims(batch.begin(), batch.end());
    dims.insert(dims.end(), x.shape().end() - 2, x.shape().end());
    return emit::broadcast_to(x, Shape(std::span<const int64_t>(dims)));
  };
  Value x = apply1("solve", {widened(matrices), widened(right)}, {{"fn", std::string(fn)}});
  return is_vector ? squeeze(x, -1) : x;
}

double largest_side(const Value& a) { return double(std::max(a.shape()[-1], a.shape()[-2])); }

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

}  // namespace

Value solve(const Value& a, const Value& b) { return solved("solve", "general", a, b); }

Value solve_triangular(const Value& a, const Value& b, const Triangular& options) {
  return solved("solve_triangular", options.lower ? "lower" : "upper", a, b);
}

namespace {

Value identity_beside(const Value& matrices) {
  return emit::broadcast_to(eye(matrices.shape()[-1]), matrices.shape());
}

}  // namespace

Value inv(const Value& a) {
  Value matrices = as_matrices("inv", a);
  if (matrices.shape()[-1] != matrices.shape()[-2])
    throw ShapeError(
        fmt::format("inv: expected square matrices [.., n, n], got {}", to_string(a.shape())));
  return solve(matrices, identity_beside(matrices));
}

namespace {

// U's diagonal, and the sign that exchanges of rows give: 1 or -1.
struct LuDiagonal {
  Value d, turns;
};

LuDiagonal lu_diagonal(const Value& a) {
  Values made = factors("lu", a);
  Value d = diagonal(made[0], 0, -2, -1);
  Value moved = not_equal(made[1], arange(Step(d.shape()[-1])));
  Value count = sum(emit::cast(moved, DType::float32), {.axes = {-1}});
  return {d, 1.0 - mod(count, 2.0) * 2.0};
}

}  // namespace

SignAndLog slogdet(const Value& a) {
  auto [d, turns] = lu_diagonal(a);
  return {turns * prod(sign(d), {.axes = {-1}}), sum(log(abs(d)), {.axes = {-1}})};
}

Value det(const Value& a) {
  auto [d, turns] = lu_diagonal(a);
  return turns * prod(d, {.axes = {-1}});
}

Value logdet(const Value& a) {
  return sum(log(diagonal(cholesky(a), 0, -2, -1)), {.axes = {-1}}) * 2.0;
}

// V · s⁺ · Uᵀ
Value pinv(const Value& a, std::optional<double> rcond) {
  Svd parts = svd(a);
  Value least =
      max(parts.s, {.axes = {-1}, .keepdims = true}) * rcond.value_or(kEpsilon * largest_side(a));
  Value counts = greater(parts.s, least);
  Value inverse = where(counts, reciprocal(where(counts, parts.s, 1.0)), 0.0);
  return product(transposed(parts.v) * expand_dims(inverse, -2), transposed(parts.u));
}

Value lstsq(const Value& a, const Value& b, std::optional<double> rcond) {
  Value right = emit::cast(b, DType::float32);
  bool is_vector = right.shape().rank() == a.shape().rank() - 1;
  Value x = product(pinv(a, rcond), is_vector ? expand_dims(right, -1) : right);
  return is_vector ? squeeze(x, -1) : x;
}

Value matrix_rank(const Value& a, std::optional<double> tol) {
  Value s = svd(a).s;
  Value least =
      tol ? Value(*tol) : max(s, {.axes = {-1}, .keepdims = true}) * (kEpsilon * largest_side(a));
  return sum(greater(s, least), {.axes = {-1}});
}

// --- factorisations ---

Value cholesky(const Value& a) { return factors("cholesky", a)[0]; }

Eig eig(const Value& a) {
  Values parts = factors("eig", a);
  return {{parts[0], parts[1]}, {parts[2], parts[3]}};
}

Value cholesky_inverse(const Value& l) {
  Value lower = as_matrices("cholesky_inverse", l);
  Value inverse = solve_triangular(lower, identity_beside(lower), {.lower = true});
  return product(transposed(inverse), inverse);
}

Lu lu_factor(const Value& a) {
  Values made = factors("lu", a);
  return {made[0], made[1]};
}

Qr qr(const Value& a) {
  Values made = factors("qr", a);
  return {made[0], made[1]};
}

Eigh eigh(const Value& a) {
  Values made = factors("eigh", a);
  return {made[0], made[1]};
}

Svd svd(const Value& a) {
  Values made = factors("svd", a);
  return {made[0], made[1], made[2]};
}

// --- norms ---

namespace {

Value vector_norm(const Value& x, const std::string& ord, const Reduce& over) {
  if (ord == "inf") return max(abs(x), over);
  if (ord == "-inf") return min(abs(x), over);
  char* end = nullptr;
  double p = std::strtod(ord.c_str(), &end);
  if (end == ord.c_str() || *end != 0)
    throw ValueError(fmt::format("norm: a vector has no norm \"{}\"", ord));
  if (p == 0) return sum(emit::cast(not_equal(x, 0.0), x.dtype()), over);
  if (p == 1) return sum(abs(x), over);
  if (p == 2) return ops::norm(x, over);
  return pow(sum(pow(abs(x), p), over), 1 / p);
}

Value matrix_norm(const Value& x, const std::string& ord, const Reduce& over) {
  if (ord == "fro") return ops::norm(x, over);
  auto largest_sum = [&](int64_t summed, bool least) {
    int64_t other = over.axes[0] == summed ? over.axes[1] : over.axes[0];
    Value sums = sum(abs(x), {.axes = {summed}, .keepdims = true});
    Value found = least ? min(sums, {.axes = {other}, .keepdims = true})
                        : max(sums, {.axes = {other}, .keepdims = true});
    return over.keepdims ? found : sum(found, over);
  };
  if (ord == "1" || ord == "-1") return largest_sum(over.axes[0], ord == "-1");
  if (ord == "inf" || ord == "-inf") return largest_sum(over.axes[1], ord == "-inf");
  if (ord != "nuc" && ord != "2" && ord != "-2")
    throw ValueError(fmt::format("norm: a matrix has no norm \"{}\"", ord));
  Value s = svd(moveaxis(x, over.axes, {-2, -1})).s;
  Value found = ord == "nuc" ? sum(s, {.axes = {-1}})
                : ord == "2" ? max(s, {.axes = {-1}})
                             : min(s, {.axes = {-1}});
  if (!over.keepdims) return found;
  Ints dims = emit::dims(x.shape());
  for (int64_t axis : over.axes) dims[size_t(axis)] = 1;
  return emit::reshape(found, Shape(std::span<const int64_t>(dims)));
}

}  // namespace

Value norm(const Value& x, const Norm& options) {
  Value wide = float_of(x);
  int rank = wide.shape().rank();
  Reduce over{.axes = options.axes, .keepdims = options.keepdims};
  if (!options.ord) return ops::norm(wide, over);
  for (int64_t& axis : over.axes) axis = normalize_axis("norm", axis, rank);
  if (over.axes.empty() && rank <= 2)
    for (int64_t axis = 0; axis < rank; ++axis) over.axes.push_back(axis);
  if (over.axes.size() == 1) return vector_norm(wide, *options.ord, over);
  if (over.axes.size() == 2) return matrix_norm(wide, *options.ord, over);
  throw ShapeError(fmt::format("norm: \"{}\" is of vectors or matrices; name one or two axes of {}",
                               *options.ord, to_string(wide.shape())));
}

}  // namespace stoker::ops::linalg
