// Dense linear algebra on single matrices, row-major, for the kernels of the ops factorize and
// solve: in double for the engines, in long double for the reference. Not blocked: meant for
// matrices of up to some hundreds of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace stoker::matrix {

template <class T>
struct Matrix {
  int64_t rows, columns;
  std::vector<T> data;
  Matrix(int64_t row_count, int64_t column_count)
      : rows(row_count), columns(column_count), data(size_t(row_count * column_count), T(0)) {}
  T& operator()(int64_t row, int64_t column) { return data[size_t(row * columns + column)]; }
  T operator()(int64_t row, int64_t column) const { return data[size_t(row * columns + column)]; }
};

template <class T>
Matrix<T> transposed(const Matrix<T>& a) {
  Matrix<T> t(a.columns, a.rows);
  for (int64_t row = 0; row < a.rows; ++row)
    for (int64_t column = 0; column < a.columns; ++column) t(column, row) = a(row, column);
  return t;
}

// The lower factor of a matrix whose lower triangle is read. NaN from the first pivot on that is
// not positive.
template <class T>
Matrix<T> cholesky(const Matrix<T>& a) {
  Matrix<T> l(a.rows, a.rows);
  for (int64_t row = 0; row < a.rows; ++row)
    for (int64_t column = 0; column <= row; ++column) {
      T sum = a(row, column);
      for (int64_t i = 0; i < column; ++i) sum -= l(row, i) * l(column, i);
      if (row == column)
        l(row, row) = sum > 0 ? std::sqrt(sum) : std::numeric_limits<T>::quiet_NaN();
      else
        l(row, column) = sum / l(column, column);
    }
  return l;
}

// In place, with partial pivoting; row i was exchanged with row pivots[i].
template <class T>
std::vector<int64_t> lu(Matrix<T>& a) {
  std::vector<int64_t> pivots;
  for (int64_t step = 0; step < std::min(a.rows, a.columns); ++step) {
    int64_t best = step;
    for (int64_t row = step + 1; row < a.rows; ++row)
      if (std::abs(a(row, step)) > std::abs(a(best, step))) best = row;
    pivots.push_back(best);
    if (best != step)
      for (int64_t column = 0; column < a.columns; ++column)
        std::swap(a(best, column), a(step, column));
    for (int64_t row = step + 1; row < a.rows; ++row) {
      T factor = a(step, step) == 0 && a(row, step) == 0 ? T(0) : a(row, step) / a(step, step);
      a(row, step) = factor;
      for (int64_t column = step + 1; column < a.columns; ++column)
        a(row, column) -= factor * a(step, column);
    }
  }
  return pivots;
}

// The order of rows that exchanges make.
inline std::vector<int64_t> order_of(const std::vector<int64_t>& pivots, int64_t rows) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = 0; i < pivots.size(); ++i) std::swap(order[i], order[size_t(pivots[i])]);
  return order;
}

// A · x = b in place of b. `unit`: the diagonal counts as ones.
template <class T>
void solve_lower(const Matrix<T>& a, Matrix<T>& b, bool unit = false) {
  for (int64_t row = 0; row < a.rows; ++row)
    for (int64_t column = 0; column < b.columns; ++column) {
      for (int64_t i = 0; i < row; ++i) b(row, column) -= a(row, i) * b(i, column);
      if (!unit) b(row, column) /= a(row, row);
    }
}
template <class T>
void solve_upper(const Matrix<T>& a, Matrix<T>& b) {
  for (int64_t row = a.rows - 1; row >= 0; --row)
    for (int64_t column = 0; column < b.columns; ++column) {
      for (int64_t i = row + 1; i < a.rows; ++i) b(row, column) -= a(row, i) * b(i, column);
      b(row, column) /= a(row, row);
    }
}
template <class T>
void solve(Matrix<T> a, Matrix<T>& b) {
  std::vector<int64_t> order = order_of(lu(a), a.rows);
  Matrix<T> moved(b.rows, b.columns);
  for (int64_t row = 0; row < b.rows; ++row)
    for (int64_t column = 0; column < b.columns; ++column)
      moved(row, column) = b(order[size_t(row)], column);
  solve_lower(a, moved, true);
  solve_upper(a, moved);
  b = std::move(moved);
}

// Householder's reflections: q [n, k], r [k, m] with k = min(n, m); r's diagonal has the sign that
// LAPACK's has.
template <class T>
void qr(Matrix<T> a, Matrix<T>& q, Matrix<T>& r) {
  int64_t count = std::min(a.rows, a.columns);
  std::vector<T> taus;
  for (int64_t step = 0; step < count; ++step) {
    T rest = 0;
    for (int64_t row = step + 1; row < a.rows; ++row) rest += a(row, step) * a(row, step);
    T head = a(step, step), tau = 0;
    if (rest > 0) {
      T beta = -std::copysign(std::sqrt(head * head + rest), head);
      tau = (beta - head) / beta;
      for (int64_t row = step + 1; row < a.rows; ++row) a(row, step) /= head - beta;
      a(step, step) = beta;
    }
    taus.push_back(tau);
    for (int64_t column = step + 1; column < a.columns; ++column) {
      T sum = a(step, column);
      for (int64_t row = step + 1; row < a.rows; ++row) sum += a(row, step) * a(row, column);
      a(step, column) -= tau * sum;
      for (int64_t row = step + 1; row < a.rows; ++row) a(row, column) -= tau * sum * a(row, step);
    }
  }
  for (int64_t row = 0; row < count; ++row)
    for (int64_t column = row; column < a.columns; ++column) r(row, column) = a(row, column);
  for (int64_t column = 0; column < count; ++column) q(column, column) = 1;
  for (int64_t step = count - 1; step >= 0; --step)
    for (int64_t column = step; column < count; ++column) {
      T sum = q(step, column);
      for (int64_t row = step + 1; row < a.rows; ++row) sum += a(row, step) * q(row, column);
      q(step, column) -= taus[size_t(step)] * sum;
      for (int64_t row = step + 1; row < a.rows; ++row)
        q(row, column) -= taus[size_t(step)] * sum * a(row, step);
    }
}

// --- Jacobi's rotations ---

template <class T>
struct Rotation {
  T c, s;
};
// That makes the product of two columns zero: alpha and beta are their squares, gamma their
// product.
template <class T>
Rotation<T> rotation(T alpha, T beta, T gamma) {
  T zeta = (beta - alpha) / (2 * gamma);
  T t = std::copysign(T(1), zeta) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
  T c = 1 / std::sqrt(1 + t * t);
  return {c, c * t};
}

template <class T>
void rotate_columns(Matrix<T>& a, int64_t p, int64_t q, Rotation<T> by) {
  for (int64_t row = 0; row < a.rows; ++row) {
    T x = a(row, p), y = a(row, q);
    a(row, p) = by.c * x - by.s * y;
    a(row, q) = by.s * x + by.c * y;
  }
}

template <class T>
bool is_finite(const Matrix<T>& a) {
  return std::ranges::all_of(a.data, [](T x) { return std::isfinite(x); });
}

// The sign of column `column` that makes its largest element positive.
template <class T>
T sign_of_column(const Matrix<T>& a, int64_t column) {
  T best = 0;
  for (int64_t row = 0; row < a.rows; ++row)
    if (std::abs(a(row, column)) > std::abs(best) * (1 + 1e-6)) best = a(row, column);
  return best < 0 ? T(-1) : T(1);
}

constexpr int kMostSweeps = 60;

// Of the symmetric matrix whose lower triangle is `a`'s; ascending, vectors in columns.
template <class T>
void eigh(const Matrix<T>& given, std::vector<T>& values, Matrix<T>& vectors) {
  int64_t n = given.rows;
  if (!is_finite(given)) {
    std::ranges::fill(values, std::numeric_limits<T>::quiet_NaN());
    std::ranges::fill(vectors.data, std::numeric_limits<T>::quiet_NaN());
    return;
  }
  Matrix<T> a = given, v(n, n);
  for (int64_t row = 0; row < n; ++row) {
    v(row, row) = 1;
    for (int64_t column = row + 1; column < n; ++column) a(row, column) = a(column, row);
  }
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    T off = 0, all = 0;
    for (int64_t row = 0; row < n; ++row)
      for (int64_t column = 0; column < n; ++column)
        (row == column ? all : off) += a(row, column) * a(row, column);
    if (off <= all * std::numeric_limits<T>::epsilon() * std::numeric_limits<T>::epsilon()) break;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        if (a(p, q) == 0) continue;
        Rotation<T> by = rotation(a(p, p), a(q, q), a(p, q));
        rotate_columns(a, p, q, by);
        a = transposed(a);
        rotate_columns(a, p, q, by);
        rotate_columns(v, p, q, by);
      }
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return a(i, i); });
  for (int64_t column = 0; column < n; ++column) {
    int64_t from = order[size_t(column)];
    T sign = sign_of_column(v, from);
    values[size_t(column)] = a(from, from);
    for (int64_t row = 0; row < n; ++row) vectors(row, column) = sign * v(row, from);
  }
}

// Columns of a tall matrix made orthogonal: their lengths are the singular values, descending.
template <class T>
void svd_tall(const Matrix<T>& a, Matrix<T>& u, std::vector<T>& s, Matrix<T>& v) {
  int64_t n = a.columns;
  Matrix<T> w = a, turns(n, n);
  for (int64_t i = 0; i < n; ++i) turns(i, i) = 1;
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        T alpha = 0, beta = 0, gamma = 0;
        for (int64_t row = 0; row < w.rows; ++row) {
          alpha += w(row, p) * w(row, p);
          beta += w(row, q) * w(row, q);
          gamma += w(row, p) * w(row, q);
        }
        if (!(std::abs(gamma) > std::numeric_limits<T>::epsilon() * std::sqrt(alpha * beta)))
          continue;
        turned = true;
        Rotation<T> by = rotation(alpha, beta, gamma);
        rotate_columns(w, p, q, by);
        rotate_columns(turns, p, q, by);
      }
  }
  std::vector<T> lengths;
  for (int64_t column = 0; column < n; ++column) {
    T sum = 0;
    for (int64_t row = 0; row < w.rows; ++row) sum += w(row, column) * w(row, column);
    lengths.push_back(std::sqrt(sum));
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](int64_t a1, int64_t b1) { return lengths[size_t(a1)] > lengths[size_t(b1)]; });
  for (int64_t column = 0; column < n; ++column) {
    int64_t from = order[size_t(column)];
    T length = lengths[size_t(from)], sign = sign_of_column(w, from);
    s[size_t(column)] = length;
    for (int64_t row = 0; row < w.rows; ++row)
      u(row, column) = length > 0 ? sign * w(row, from) / length : T(0);
    for (int64_t row = 0; row < n; ++row) v(row, column) = sign * turns(row, from);
  }
}

// a = u · diag(s) · vt
template <class T>
void svd(const Matrix<T>& a, Matrix<T>& u, std::vector<T>& s, Matrix<T>& vt) {
  int64_t count = std::min(a.rows, a.columns);
  if (!is_finite(a)) {
    for (std::vector<T>* part : {&u.data, &s, &vt.data})
      std::ranges::fill(*part, std::numeric_limits<T>::quiet_NaN());
  } else if (a.rows >= a.columns) {
    Matrix<T> v(count, count);
    svd_tall(a, u, s, v);
    vt = transposed(v);
  } else {
    Matrix<T> left(a.columns, count), right(count, count);
    svd_tall(transposed(a), left, s, right);
    u = right;
    vt = transposed(left);
  }
}

}  // namespace stoker::matrix
