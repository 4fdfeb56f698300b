// Eigenvalues and eigenvectors of a real matrix without symmetry: the QR algorithm with Wilkinson's
// shifts on complex Hessenberg matrices, then back substitution. For the kernels of the op factorize,
// as matrix_math.h is.
#pragma once

#include <complex>

#include "engine/matrix_math.h"

namespace stoker::matrix {

template <class T>
struct Eigen {
  explicit Eigen(int64_t n)
      : values_real(size_t(n)),
        values_imag(size_t(n)),
        vectors_real(n, n),
        vectors_imag(n, n),
        real_at(size_t(n)) {}
  std::vector<T> values_real, values_imag;
  Matrix<T> vectors_real, vectors_imag;  // columns of length 1
  std::vector<int64_t> real_at;          // by column: the row that is real and positive
};

// A turn of two rows (p, p + 1) or columns that makes the lower element of a column zero.
template <class T>
struct ComplexTurn {
  T c;
  std::complex<T> s;
  ComplexTurn(std::complex<T> upper, std::complex<T> lower) {
    T length = std::hypot(std::abs(upper), std::abs(lower));
    std::complex<T> phase = std::abs(upper) > 0 ? upper / std::abs(upper) : std::complex<T>(1);
    c = length > 0 ? std::abs(upper) / length : T(1);
    s = length > 0 ? phase * std::conj(lower) / length : std::complex<T>(0);
  }
  void turn(std::complex<T>& a, std::complex<T>& b) const {  // rows
    std::complex<T> sum = c * a + s * b;
    b = -std::conj(s) * a + c * b;
    a = sum;
  }
  void turn_back(std::complex<T>& a, std::complex<T>& b) const {  // columns
    std::complex<T> sum = c * a + std::conj(s) * b;
    b = -s * a + c * b;
    a = sum;
  }
};

template <class T>
using ComplexMatrix = Matrix<std::complex<T>>;

// A = Q · H · Qᴴ with H zero below its first subdiagonal, by turns.
template <class T>
void to_hessenberg(ComplexMatrix<T>& h, ComplexMatrix<T>& q) {
  int64_t n = h.rows;
  for (int64_t column = 0; column + 2 < n; ++column)
    for (int64_t row = n - 1; row > column + 1; --row) {
      if (h(row, column) == std::complex<T>(0)) continue;
      ComplexTurn<T> by(h(row - 1, column), h(row, column));
      for (int64_t i = 0; i < n; ++i) by.turn(h(row - 1, i), h(row, i));
      for (int64_t i = 0; i < n; ++i) by.turn_back(h(i, row - 1), h(i, row));
      for (int64_t i = 0; i < n; ++i) by.turn_back(q(i, row - 1), q(i, row));
      h(row, column) = 0;
    }
}

// The eigenvalue of the lower right 2 × 2 block that is closer to its last element.
template <class T>
std::complex<T> wilkinson_shift(const ComplexMatrix<T>& h, int64_t last) {
  std::complex<T> a = h(last - 1, last - 1), d = h(last, last);
  std::complex<T> half = (a - d) / T(2),
                  root = std::sqrt(half * half + h(last - 1, last) * h(last, last - 1));
  std::complex<T> one = d + half + root, other = d + half - root;
  return std::abs(one - d) < std::abs(other - d) ? one : other;
}

// Makes a Hessenberg matrix upper triangular; false where it does not converge.
template <class T>
bool to_triangle(ComplexMatrix<T>& h, ComplexMatrix<T>& q) {
  constexpr int kMostTurns = 60;  // per eigenvalue
  constexpr T kTiny = std::numeric_limits<T>::epsilon();
  int64_t n = h.rows, last = n - 1;
  for (int tries = 0; last > 0;) {
    int64_t first = last;
    while (first > 0 && std::abs(h(first, first - 1)) >
                            kTiny * (std::abs(h(first - 1, first - 1)) + std::abs(h(first, first))))
      --first;
    if (first > 0) h(first, first - 1) = 0;
    if (first == last) {
      --last;
      tries = 0;
      continue;
    }
    if (++tries > kMostTurns) return false;
    std::complex<T> shift =
        tries % 20 == 0  // an unusual one where the usual ones run in a circle
            ? std::complex<T>(std::abs(h(last, last - 1)) + std::abs(h(last, last)))
            : wilkinson_shift(h, last);
    for (int64_t i = first; i <= last; ++i) h(i, i) -= shift;
    std::vector<ComplexTurn<T>> turns;
    for (int64_t i = first; i < last; ++i) {
      turns.emplace_back(h(i, i), h(i + 1, i));
      for (int64_t column = i; column < n; ++column)
        turns.back().turn(h(i, column), h(i + 1, column));
      h(i + 1, i) = 0;
    }
    for (int64_t i = first; i < last; ++i) {
      const ComplexTurn<T>& by = turns[size_t(i - first)];
      for (int64_t row = 0; row <= std::min(i + 1, last); ++row)
        by.turn_back(h(row, i), h(row, i + 1));
      for (int64_t row = 0; row < n; ++row) by.turn_back(q(row, i), q(row, i + 1));
    }
    for (int64_t i = first; i <= last; ++i) h(i, i) += shift;
  }
  return true;
}

// Column `which` of the eigenvectors of Q · R · Qᴴ.
template <class T>
std::vector<std::complex<T>> eigenvector(const ComplexMatrix<T>& r, const ComplexMatrix<T>& q,
                                         int64_t which, T scale) {
  int64_t n = r.rows;
  std::vector<std::complex<T>> x(static_cast<size_t>(n)), v(static_cast<size_t>(n));
  x[size_t(which)] = 1;
  for (int64_t row = which - 1; row >= 0; --row) {
    std::complex<T> sum = 0, gap = r(which, which) - r(row, row);
    for (int64_t i = row + 1; i <= which; ++i) sum += r(row, i) * x[size_t(i)];
    if (std::abs(gap) <
        std::numeric_limits<T>::epsilon() * scale)  // two eigenvalues that are equal
      gap = std::numeric_limits<T>::epsilon() * scale;
    x[size_t(row)] = sum / gap;
  }
  for (int64_t row = 0; row < n; ++row)
    for (int64_t i = 0; i <= which; ++i) v[size_t(row)] += q(row, i) * x[size_t(i)];
  return v;
}

// The row whose element becomes real: the first of those that are about as large as the largest.
template <class T>
int64_t row_to_be_real(const std::vector<std::complex<T>>& v) {
  T most = 0;
  for (const std::complex<T>& each : v) most = std::max(most, std::abs(each));
  for (size_t row = 0; row < v.size(); ++row)
    if (std::abs(v[row]) >= most * T(0.999)) return int64_t(row);
  return 0;
}

// Ascending by real parts; of a pair of conjugates the one with a positive imaginary part is first.
template <class T>
std::vector<int64_t> eigen_order(const ComplexMatrix<T>& r, T scale) {
  std::vector<int64_t> order;
  T real_below = scale * std::numeric_limits<T>::epsilon() * T(16) * T(r.rows);
  for (int64_t i = 0; i < r.rows; ++i)
    if (r(i, i).imag() > -real_below) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return r(i, i).real(); });
  std::vector<int64_t> all;
  for (int64_t i : order) {
    all.push_back(i);
    if (r(i, i).imag() > real_below) all.push_back(-1 - i);  // its conjugate
  }
  if (all.size() != size_t(r.rows)) {  // pairs that rounding has taken apart: as they are
    all.resize(size_t(r.rows));
    std::iota(all.begin(), all.end(), 0);
  }
  return all;
}

template <class T>
Eigen<T> eig(const Matrix<T>& a) {
  int64_t n = a.rows;
  Eigen<T> made(n);
  ComplexMatrix<T> r(n, n), q(n, n);
  T scale = std::numeric_limits<T>::min();
  for (size_t i = 0; i < a.data.size(); ++i) {
    r.data[i] = a.data[i];
    scale = std::max(scale, std::abs(a.data[i]));
  }
  for (int64_t i = 0; i < n; ++i) q(i, i) = 1;
  bool converged = is_finite(a);
  if (converged) {
    to_hessenberg(r, q);
    converged = to_triangle(r, q);
  }
  if (!converged) {
    constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
    for (auto* values :
         {&made.values_real, &made.values_imag, &made.vectors_real.data, &made.vectors_imag.data})
      std::ranges::fill(*values, kNaN);
    return made;
  }
  std::vector<int64_t> order = eigen_order(r, scale);
  for (int64_t column = 0; column < n; ++column) {
    int64_t from = order[size_t(column)];
    bool conjugate = from < 0;
    if (conjugate) from = -1 - from;
    bool is_real =
        !conjugate && (column + 1 == n || order[size_t(column) + 1] != -1 - from) &&
        std::abs(r(from, from).imag()) <= scale * std::numeric_limits<T>::epsilon() * T(16) * T(n);
    std::vector<std::complex<T>> v = eigenvector(r, q, from, scale);
    int64_t real_row = row_to_be_real(v);
    T length = 0;
    for (const std::complex<T>& each : v) length += std::norm(each);
    std::complex<T> turn =
        std::conj(v[size_t(real_row)]) / std::abs(v[size_t(real_row)]) / std::sqrt(length);
    T sign = conjugate ? T(-1) : T(1);
    made.values_real[size_t(column)] = r(from, from).real();
    made.values_imag[size_t(column)] = is_real ? T(0) : sign * r(from, from).imag();
    made.real_at[size_t(column)] = real_row;
    for (int64_t row = 0; row < n; ++row) {
      std::complex<T> element = v[size_t(row)] * turn;
      made.vectors_real(row, column) = element.real();
      made.vectors_imag(row, column) = is_real || row == real_row ? T(0) : sign * element.imag();
    }
  }
  return made;
}

}  // namespace stoker::matrix
