// Products of tensors, and linear algebra on matrices [.., n, m]. Factorisations and solutions are
// computed in double on the host (a GPU's operands are copied there and back, between its kernels);
// all have gradients.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/ops_fft.h>
#include <stoker/value.h>

namespace stoker::ops {

// --- products --------------------------------------------------------------------------------
// einsum("bij,bjk->bik", {a, b}): any number of operands, one after the other; "..." stands for
// axes that broadcast. A letter that is missing on the right is summed.
Value einsum(const std::string& subscripts, const Values& operands);
Value dot(const Value& a, const Value& b);    // last axis of a with the last but one of b
Value inner(const Value& a, const Value& b);  // last axis with last axis
Value outer(const Value& a, const Value& b);  // of all elements
Value vdot(const Value& a, const Value& b);   // of all elements, summed
Value kron(const Value& a, const Value& b);
Value cross(const Value& a, const Value& b, int axis = -1);  // of vectors of 3
Value tensordot(const Value& a, const Value& b, int axes = 2);
Value tensordot(const Value& a, const Value& b, const std::vector<int64_t>& axes_a,
                const std::vector<int64_t>& axes_b);
Value cdist(const Value& a,
            const Value& b);  // distances of rows: [.., n, d], [.., m, d] → [.., n, m]

namespace linalg {

// --- solutions -------------------------------------------------------------------------------
// A · x = b; b: [.., n] or [.., n, k]. A matrix without an inverse gives values that are not finite.
Value solve(const Value& a, const Value& b);
struct Triangular {
  bool lower = false;
};
Value solve_triangular(const Value& a, const Value& b, const Triangular& options = {});
Value inv(const Value& a);
Value det(const Value& a);
struct SignAndLog {
  Value sign, logabsdet;
};
SignAndLog slogdet(const Value& a);
Value logdet(const Value& a);  // of a positive definite matrix
// The x that makes |A · x - b| least; of all such the shortest. Singular values below rcond times
// the largest count as 0; unset: eps · max(n, m).
Value lstsq(const Value& a, const Value& b, std::optional<double> rcond = {});
Value pinv(const Value& a, std::optional<double> rcond = {});
Value matrix_rank(const Value& a, std::optional<double> tol = {});  // int32

// --- factorisations --------------------------------------------------------------------------
Value cholesky(const Value& a);          // lower: L · Lᵀ = A
Value cholesky_inverse(const Value& l);  // (L · Lᵀ)⁻¹
struct Lu {
  Value lu,
      pivots;  // L below the diagonal, U above; row i was exchanged with row pivots[i] (int32)
};
Lu lu_factor(const Value& a);
struct Qr {
  Value q, r;  // [.., n, k], [.., k, m] with k = min(n, m)
};
Qr qr(const Value& a);
struct Eigh {
  Value values, vectors;  // ascending; the vectors are columns
};
Eigh eigh(const Value& a);  // of a symmetric matrix
// Complex numbers as pairs: values [.., n], vectors [.., n, n] as columns of length 1 whose largest
// element is real and positive. Of a pair of conjugates the one with a positive imaginary part comes
// first. Gradients are those of matrices with n different eigenvalues.
struct Eig {
  Complex values, vectors;
};
Eig eig(const Value& a);
struct Svd {
  Value u, s, v;  // A = U · diag(s) · V, s descending; [.., n, k], [.., k], [.., k, m]
};
Svd svd(const Value& a);

struct Norm {
  std::optional<std::string> ord = {};  // "fro", "nuc", "inf", "-inf", "1", "2", "3.5", "-1", …
  std::vector<int64_t> axes = {};       // one: of vectors, two: of matrices; empty: of all elements
  bool keepdims = false;
};
Value norm(const Value& x, const Norm& options = {});

}  // namespace linalg

}  // namespace stoker::ops
