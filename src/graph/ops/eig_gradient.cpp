// The gradient of eigenvalues and eigenvectors of a matrix without symmetry.
#include <stoker/ops_linalg.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/ops/linalg.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

struct Pair {
  Value re, im;
};

Value flipped(const Value& a) { return emit::transpose(a, swapped_last(a.shape().rank())); }
Value times(const Value& a, const Value& b) { return emit::matmul(a, b, false, false); }

Pair operator*(const Pair& a, const Pair& b) {
  return {times(a.re, b.re) - times(a.im, b.im), times(a.re, b.im) + times(a.im, b.re)};
}
Pair adjoint(const Pair& a) { return {flipped(a.re), -flipped(a.im)}; }
Pair each(const Pair& a, const Pair& b) {  // elementwise
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

Value with_axis(const Value& v, bool row) {
  Ints dims = emit::dims(v.shape());
  dims.insert(dims.end() - (row ? 1 : 0), 1);
  return emit::reshape(v, to_shape(dims));
}

// conj(1 / (x[j] - x[i])) at (i, j), 0 where they are equal.
Pair conjugate_inverse_gaps(const Pair& x) {
  Value re = with_axis(x.re, true) - with_axis(x.re, false),
        im = with_axis(x.im, true) - with_axis(x.im, false);
  Value square = re * re + im * im, is_zero = emit::compare("equal", square, 0.0);
  Value inverse =
      emit::select(is_zero, 0.0, emit::unary("reciprocal", emit::select(is_zero, 1.0, square)));
  return {re * inverse, im * inverse};
}

Value eig_upstream(const GradientCall& call, size_t output) {
  if (call.output_gradients[output].defined()) return call.output_gradients[output];
  Value zero = call.graph.number(Tensor::zeros({}, DType::float32));
  return emit::broadcast_to(zero, call.outputs[output].shape());
}

Value columns_sum(const Value& x) {  // [.., n, n] → [.., 1, n]
  return emit::reduce("sum", x, {int64_t(x.shape().rank() - 2)}, true);
}

// 1 at the row of every column that is real.
Value at_real(const Value& row_of_column, int64_t n) {
  Tensor rows(DType::int32, {n, 1});
  for (int64_t row = 0; row < n; ++row) rows.data_mut<int32_t>()[row] = int32_t(row);
  return emit::cast(emit::compare("equal", with_axis(row_of_column, true), rows), DType::float32);
}

Value diagonal_of(int64_t n) {
  Tensor table = Tensor::zeros({n, n}, DType::float32);
  for (int64_t i = 0; i < n; ++i) table.data_mut<float>()[i * n + i] = 1;
  return table;
}

}  // namespace

// With A · V = V · Λ, G and g the gradients by V and Λ, u = the diagonal of Gᴴ · V:
//   G' = G - V · Re(u) + i · e · Im(u) / v[real]   (columns keep length 1 and their real element)
//   dA = Re(V⁻ᴴ · (diag(g) + conj(F) ∘ (Vᴴ · G')) · Vᴴ)
Value eig_gradient(const GradientCall& call) {
  const Pair values{call.outputs[0], call.outputs[1]}, v{call.outputs[2], call.outputs[3]};
  int64_t n = v.re.shape()[-1];
  Pair by_values{eig_upstream(call, 0), eig_upstream(call, 1)},
      by_vectors{eig_upstream(call, 2), eig_upstream(call, 3)};
  Value along = columns_sum(by_vectors.re * v.re + by_vectors.im * v.im);   // Re(u)
  Value across = columns_sum(by_vectors.re * v.im - by_vectors.im * v.re);  // Im(u)
  Value real = at_real(call.outputs[4], n);
  Pair fixed{by_vectors.re - v.re * along,
             by_vectors.im - v.im * along + real * across / columns_sum(real * v.re)};
  Pair inside = each(conjugate_inverse_gaps(values), adjoint(v) * fixed);
  Value diagonal = diagonal_of(n);
  inside = {inside.re + with_axis(by_values.re, true) * diagonal,
            inside.im + with_axis(by_values.im, true) * diagonal};
  Pair right = inside * adjoint(v);
  // Vᴴ · Y = right, as real numbers: [[Vrᵀ, Viᵀ], [-Viᵀ, Vrᵀ]] · [Yr; Yi].
  auto last = int64_t(v.re.shape().rank() - 1);
  auto beside = [&](const Value& a, const Value& b) {
    return apply1("concat", {a, b}, {{"axis", last}});
  };
  auto above = [&](const Value& a, const Value& b) {
    return apply1("concat", {a, b}, {{"axis", last - 1}});
  };
  Value matrix = above(beside(flipped(v.re), flipped(v.im)), beside(-flipped(v.im), flipped(v.re)));
  Value y = apply1("solve", {matrix, above(right.re, right.im)}, {{"fn", std::string("general")}});
  Ints from(size_t(last + 1), 0), size(from.size(), -1);
  size[size_t(last) - 1] = n;
  return emit::slice(y, from, size);
}

}  // namespace stoker
