// The ops factorize and solve on arrays of numbers `T`, computed in `Work`.
#pragma once

#include <span>
#include <string>

#include "engine/eigenvalues.h"
#include "engine/matrix_math.h"
#include "graph/op.h"

namespace stoker::matrix {

// A [.., n, m] and, of solve, b [.., n, k].
struct Operation {
  std::string fn;  // cholesky, lu, qr, eigh, eig, svd; general, lower, upper
  int64_t batch = 1, n = 0, m = 0, k = 0;

  Operation(const Attrs& attrs, const Shape& a, const Shape* b);
};

template <class Work, class T>
Matrix<Work> load(const T* from, int64_t rows, int64_t columns) {
  Matrix<Work> a(rows, columns);
  for (size_t i = 0; i < a.data.size(); ++i) a.data[i] = Work(from[i]);
  return a;
}

template <class T, class From>
void store(const std::vector<From>& from, T* to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = T(from[i]);
}

// Matrix number `index` of all. Outputs of integers hold `Integer`.
template <class Work, class Integer, class T>
void run(const Operation& op, std::span<const T* const> in, std::span<void* const> out,
         int64_t index) {
  int64_t k = std::min(op.n, op.m);
  Matrix<Work> a = load<Work>(in[0] + index * op.n * op.m, op.n, op.m);
  auto number = [&](size_t which, int64_t size) {
    return static_cast<T*>(out[which]) + index * size;
  };
  auto integer = [&](size_t which, int64_t size) {
    return static_cast<Integer*>(out[which]) + index * size;
  };
  if (in.size() == 2) {
    Matrix<Work> b = load<Work>(in[1] + index * op.n * op.k, op.n, op.k);
    if (op.fn == "lower")
      solve_lower(a, b);
    else if (op.fn == "upper")
      solve_upper(a, b);
    else
      solve(std::move(a), b);
    store(b.data, number(0, op.n * op.k));
  } else if (op.fn == "cholesky") {
    store(cholesky(a).data, number(0, op.n * op.n));
  } else if (op.fn == "lu") {
    std::vector<int64_t> pivots = lu(a);
    store(a.data, number(0, op.n * op.m));
    store(pivots, integer(1, k));
    store(order_of(pivots, op.n), integer(2, op.n));
  } else if (op.fn == "qr") {
    Matrix<Work> q(op.n, k), r(k, op.m);
    qr(std::move(a), q, r);
    store(q.data, number(0, op.n * k));
    store(r.data, number(1, k * op.m));
  } else if (op.fn == "eigh") {
    std::vector<Work> values(static_cast<size_t>(op.n));
    Matrix<Work> vectors(op.n, op.n);
    eigh(a, values, vectors);
    store(values, number(0, op.n));
    store(vectors.data, number(1, op.n * op.n));
  } else if (op.fn == "eig") {
    Eigen<Work> made = eig(a);
    store(made.values_real, number(0, op.n));
    store(made.values_imag, number(1, op.n));
    store(made.vectors_real.data, number(2, op.n * op.n));
    store(made.vectors_imag.data, number(3, op.n * op.n));
    store(made.real_at, integer(4, op.n));
  } else {
    Matrix<Work> u(op.n, k), vt(k, op.m);
    std::vector<Work> s(static_cast<size_t>(k));
    svd(a, u, s, vt);
    store(u.data, number(0, op.n * k));
    store(s, number(1, k));
    store(vt.data, number(2, k * op.m));
  }
}

}  // namespace stoker::matrix
