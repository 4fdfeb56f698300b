// factorize, solve.
#include "graph/ops/linalg.h"

#include <array>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

Shape tail_of(const Shape& a, std::initializer_list<int64_t> dims) {
  Ints all(a.begin(), a.end() - 2);
  all.insert(all.end(), dims);
  return to_shape(all);
}

void expect_square(const TensorSpec& a) {
  expect_least_rank(a, 2, "matrices [.., n, n]");
  if (a.shape[-1] != a.shape[-2])
    throw ShapeError(
        fmt::format("expected square matrices [.., n, n], got {}", to_string(a.shape)));
}

std::vector<TensorSpec> infer_factorize(const Attrs& attrs, Specs inputs) {
  static constexpr auto kKnown =
      std::to_array<std::string_view>({"cholesky", "lu", "qr", "eigh", "eig", "svd"});
  expect_count(inputs, 1);
  expect_function(attrs, kKnown);
  const TensorSpec& a = inputs[0];
  expect_least_rank(a, 2, "matrices [.., n, m]");
  const auto& fn = attrs.get<std::string>("fn");
  int64_t n = a.shape[-2], m = a.shape[-1], k = std::min(n, m);
  auto floats_of = [&](std::initializer_list<int64_t> dims) {
    return TensorSpec{DType::float32, tail_of(a.shape, dims)};
  };
  auto places_of = [&](int64_t count) {
    return TensorSpec{DType::int32, tail_of(a.shape, {count})};
  };
  if (fn == "qr") return {floats_of({n, k}), floats_of({k, m})};
  if (fn == "svd") return {floats_of({n, k}), floats_of({k}), floats_of({k, m})};
  expect_square(a);
  if (fn == "lu") return {a, places_of(n), places_of(n)};
  if (fn == "eigh") return {floats_of({n}), a};
  if (fn == "eig") return {floats_of({n}), floats_of({n}), a, a, places_of(n)};
  return {a};
}

std::vector<TensorSpec> infer_solve(const Attrs& attrs, Specs inputs) {
  static constexpr auto kKnown = std::to_array<std::string_view>({"general", "lower", "upper"});
  expect_count(inputs, 2);
  expect_function(attrs, kKnown);
  expect_square(inputs[0]);
  const TensorSpec &a = inputs[0], &b = inputs[1];
  expect_least_rank(b, 2, "a right side [.., n, k]");
  expect_spec(b, {DType::float32, tail_of(a.shape, {a.shape[-1], b.shape[-1]})},
              "a right side [.., n, k] for the same matrices,");
  return {b};
}

// --- what the gradients are written with ---

Value product(const Value& a, const Value& b) { return emit::matmul(a, b, false, false); }
Value transposed(const Value& a) { return emit::transpose(a, swapped_last(a.shape().rank())); }
Value solved(const char* fn, const Value& a, const Value& b) {
  return apply1("solve", {a, b}, {{"fn", std::string(fn)}});
}

// A mask [n, n] of numbers by (column - row).
Value mask(int64_t n, double below, double on, double above) {
  Tensor table(DType::float32, {n, n});
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < n; ++column)
      table.data_mut<float>()[row * n + column] = float(column < row    ? below
                                                        : column == row ? on
                                                                        : above);
  return table;
}

// A vector as columns' or rows' factors.
Value as_row(const Value& v) {
  Ints dims = emit::dims(v.shape());
  dims.insert(dims.end() - 1, 1);
  return emit::reshape(v, to_shape(dims));
}
Value as_column(const Value& v) {
  Ints dims = emit::dims(v.shape());
  dims.push_back(1);
  return emit::reshape(v, to_shape(dims));
}

// 1 / (x[j] - x[i]) at (i, j), 0 where they are equal.
Value inverse_gaps(const Value& x) {
  Value gaps = as_row(x) - as_column(x);
  Value is_zero = emit::compare("equal", gaps, 0.0);
  return emit::select(is_zero, 0.0, emit::unary("reciprocal", emit::select(is_zero, 1.0, gaps)));
}

// The gradient by an output, zeros where there is none.
Value gradient_by(const GradientCall& call, size_t output) {
  if (call.output_gradients[output].defined()) return call.output_gradients[output];
  Value zero = call.graph.number(Tensor::zeros({}, DType::float32));
  return emit::broadcast_to(zero, call.outputs[output].shape());
}

// Of a function of the lower triangle alone, from a gradient by the symmetric matrix.
Value of_lower(const Value& s) { return (s + transposed(s)) * mask(s.shape()[-1], 1, 0.5, 0); }

// L⁻ᵀ · Φ(Lᵀ · dL) · L⁻¹ with Φ the lower triangle, its diagonal halved (Murray, 2016).
Value cholesky_gradient(const GradientCall& call) {
  const Value& l = call.outputs[0];
  Value p = product(transposed(l), gradient_by(call, 0)) * mask(l.shape()[-1], 1, 0.5, 0);
  Value left = solved("upper", transposed(l), p);                          // L⁻ᵀ P
  Value s = transposed(solved("upper", transposed(l), transposed(left)));  // … L⁻¹
  return of_lower(s);
}

// With A[order] = L · U: L⁻ᵀ · (strictly lower of Lᵀ · dL + upper of dU · Uᵀ) · U⁻ᵀ, moved back.
Value lu_gradient(const GradientCall& call) {
  const Value& lu = call.outputs[0];
  int64_t n = lu.shape()[-1];
  Value below = mask(n, 1, 0, 0), above = mask(n, 0, 1, 1), d = gradient_by(call, 0);
  Value l = lu * below + mask(n, 0, 1, 0), u = lu * above;
  Value inside =
      product(transposed(l), d * below) * below + product(d * above, transposed(u)) * above;
  Value left = solved("upper", transposed(l), inside);
  Value moved = transposed(solved("upper", u, transposed(left)));  // left · U⁻ᵀ
  Value back = apply1("argsort", {call.outputs[2]}, {{"k", n}, {"descending", false}});
  return apply1("take", {moved, back}, {{"axis", int64_t(lu.shape().rank() - 2)}});
}

// Of tall A = Q · R: (dQ + Q · copied(M)) · R⁻ᵀ with M = R · dRᵀ - dQᵀ · Q, whose lower triangle is
// copied to the upper one.
Value tall_qr_gradient(const Value& q, const Value& r, const Value& dq, const Value& dr) {
  int64_t n = r.shape()[-1];
  Value m = product(r, transposed(dr)) - product(transposed(dq), q);
  Value lower = m * mask(n, 1, 1, 0);
  Value copied = lower + transposed(m * mask(n, 1, 0, 0));
  Value z = dq + product(q, copied);
  return transposed(solved("upper", r, transposed(z)));
}

Value part(const Value& x, int64_t begin, int64_t count) {  // of the columns
  Ints from(size_t(x.shape().rank()), 0), size(from.size(), -1);
  from.back() = begin;
  size.back() = count;
  return emit::slice(x, from, size);
}

// The columns behind the square part of a wide A are Q · V.
Value qr_gradient(const GradientCall& call) {
  const Value &a = call.inputs[0], &q = call.outputs[0], &r = call.outputs[1];
  Value dq = gradient_by(call, 0), dr = gradient_by(call, 1);
  int64_t n = a.shape()[-2], m = a.shape()[-1];
  if (n >= m) return tall_qr_gradient(q, r, dq, dr);
  Value dv = part(dr, n, m - n);
  Value dx = tall_qr_gradient(q, part(r, 0, n), dq + product(part(a, n, m - n), transposed(dv)),
                              part(dr, 0, n));
  return apply1("concat", {dx, product(q, dv)}, {{"axis", int64_t(a.shape().rank() - 1)}});
}

// V · (diag(dw) + F ∘ Vᵀ · dV) · Vᵀ
Value eigh_gradient(const GradientCall& call) {
  const Value &w = call.outputs[0], &v = call.outputs[1];
  Value inside = inverse_gaps(w) * product(transposed(v), gradient_by(call, 1)) +
                 as_row(gradient_by(call, 0)) * mask(w.shape()[-1], 0, 1, 0);
  return of_lower(product(product(v, inside), transposed(v)));
}

// Townsend, "Differentiating the singular value decomposition", 2016.
Value svd_gradient(const GradientCall& call) {
  const Value &u = call.outputs[0], &s = call.outputs[1], &vt = call.outputs[2];
  Value du = gradient_by(call, 0), ds = gradient_by(call, 1), dvt = gradient_by(call, 2);
  int64_t n = u.shape()[-2], m = vt.shape()[-1], k = s.shape()[-1];
  Value v = transposed(vt), dv = transposed(dvt), f = inverse_gaps(emit::unary("square", s));
  auto turned = [&](const Value& x, const Value& dx) {
    Value w = product(transposed(x), dx);
    return f * (w - transposed(w));
  };
  Value inside =
      turned(u, du) * as_row(s) + as_row(ds) * mask(k, 0, 1, 0) + as_column(s) * turned(v, dv);
  Value da = product(product(u, inside), vt);
  // What leaves the columns: none where they span everything.
  auto beyond = [&](const Value& x, const Value& dx) {
    return (dx - product(x, product(transposed(x), dx))) / as_row(s);
  };
  if (n > k) da = da + product(beyond(u, du), vt);
  if (m > k) da = da + product(u, transposed(beyond(v, dv)));
  return da;
}

// Products are float32 here, whatever the policy's are.
Values factorize_gradient(const GradientCall& call) {
  Graph::ComputeDtype exact(call.graph, DType::float32);
  const auto& fn = call.attrs.get<std::string>("fn");
  if (fn == "cholesky") return {cholesky_gradient(call)};
  if (fn == "lu") return {lu_gradient(call)};
  if (fn == "qr") return {qr_gradient(call)};
  if (fn == "eigh") return {eigh_gradient(call)};
  if (fn == "eig") return {eig_gradient(call)};
  return {svd_gradient(call)};
}

// dB = A⁻ᵀ · dX, dA = -dB · Xᵀ, of a triangle only that.
Values solve_gradient(const GradientCall& call) {
  Graph::ComputeDtype exact(call.graph, DType::float32);
  const auto& fn = call.attrs.get<std::string>("fn");
  const char* back = fn == "lower" ? "upper" : fn == "upper" ? "lower" : "general";
  Value db = solved(back, transposed(call.inputs[0]), call.output_gradients[0]);
  Values gradients = {Value(), db};
  if (!call.needed[0]) return gradients;
  Value da = -product(db, transposed(call.outputs[0]));
  int64_t n = da.shape()[-1];
  if (fn == "lower") da = da * mask(n, 1, 1, 0);
  if (fn == "upper") da = da * mask(n, 0, 1, 1);
  gradients[0] = da;
  return gradients;
}

// Operations of the usual algorithms, for square matrices.
Cost matrix_cost(const Attrs& attrs, Specs inputs, Specs outputs) {
  const auto& fn = attrs.get<std::string>("fn");
  double side = double(std::min(inputs[0].shape[-1], inputs[0].shape[-2]));
  double factor = fn == "cholesky"                ? 0.33
                  : fn == "lu" || fn == "general" ? 0.67
                  : fn == "qr"                    ? 4
                                                  : 40;
  double flops = factor * elements(inputs[0]) * side;
  if (inputs.size() == 2) flops = (fn == "general" ? flops : 0) + elements(inputs[1]) * side;
  return cost_of(flops, inputs, outputs);
}

}  // namespace

Ints swapped_last(int rank) {
  Ints perm;
  for (int axis = 0; axis < rank; ++axis) perm.push_back(axis);
  std::swap(perm[size_t(rank) - 1], perm[size_t(rank) - 2]);
  return perm;
}

void register_linalg_ops(OpRegistry& registry) {
  registry.add({.name = "factorize",
                .infer = infer_factorize,
                .gradient = factorize_gradient,
                .cost = matrix_cost,
                .dtypes = {DType::float32}});
  registry.add({.name = "solve",
                .infer = infer_solve,
                .gradient = solve_gradient,
                .cost = matrix_cost,
                .dtypes = {DType::float32}});
}

}  // namespace stoker
