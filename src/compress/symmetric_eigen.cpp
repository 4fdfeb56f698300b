#include "compress/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace stoker::compress {

namespace {

using Row = std::vector<double>;

// A tridiagonal matrix and the basis in which the given one looks like it.
struct Tridiagonal {
  Row diagonal, beside;    // beside[i] couples i and i + 1; the last is 0
  std::vector<Row> basis;  // one row per basis vector
};

// The reflection I − 2 v vᵀ that leaves of column `at`, below the diagonal, its first element only.
// Empty: there is nothing to do.
Row reflection(const std::vector<Row>& rows, size_t at) {
  Row v(rows.size(), 0.0);
  double square = 0;
  for (size_t i = at + 1; i < rows.size(); ++i) square += rows[i][at] * rows[i][at];
  for (size_t i = at + 1; i < rows.size(); ++i) v[i] = rows[i][at];
  v[at + 1] += std::copysign(std::sqrt(square), v[at + 1]);
  double length = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  if (length == 0) return {};
  for (double& each : v) each /= length;
  return v;
}

// rows ← H rows H, basis ← H basis, with H = I − 2 v vᵀ; v is zero up to `at`.
void reflect(std::vector<Row>& rows, std::vector<Row>& basis, const Row& v, size_t at) {
  size_t n = rows.size();
  Row product(n, 0.0), of_basis(n, 0.0);
  for (size_t i = 0; i < n; ++i)
    product[i] = 2 * std::inner_product(rows[i].begin() + std::ptrdiff_t(at), rows[i].end(),
                                        v.begin() + std::ptrdiff_t(at), 0.0);
  double both = std::inner_product(v.begin(), v.end(), product.begin(), 0.0);
  for (size_t i = 0; i < n; ++i) product[i] -= both * v[i];
  for (size_t i = at; i < n; ++i)
    for (size_t k = at; k < n; ++k) rows[i][k] -= v[i] * product[k] + product[i] * v[k];
  for (size_t i = at + 1; i < n; ++i)
    for (size_t k = 0; k < n; ++k) of_basis[k] += v[i] * basis[i][k];
  for (size_t i = at + 1; i < n; ++i)
    for (size_t k = 0; k < n; ++k) basis[i][k] -= 2 * v[i] * of_basis[k];
}

Tridiagonal tridiagonal(std::vector<Row> rows) {
  size_t n = rows.size();
  Tridiagonal made{Row(n), Row(n, 0.0), std::vector<Row>(n, Row(n, 0.0))};
  for (size_t i = 0; i < n; ++i) made.basis[i][i] = 1;
  for (size_t at = 0; at + 2 < n; ++at)
    if (Row v = reflection(rows, at); !v.empty()) reflect(rows, made.basis, v, at);
  for (size_t i = 0; i < n; ++i) made.diagonal[i] = rows[i][i];
  for (size_t i = 0; i + 1 < n; ++i) made.beside[i] = rows[i + 1][i];
  return made;
}

void rotate(Row& first, Row& second, double c, double s) {
  for (size_t i = 0; i < first.size(); ++i) {
    double x = first[i], y = second[i];
    first[i] = c * x - s * y;
    second[i] = s * x + c * y;
  }
}

// One implicit QL step with Wilkinson's shift on the block from `begin` to `end`.
void ql_step(Tridiagonal& t, size_t begin, size_t end) {
  Row &d = t.diagonal, &e = t.beside;
  double g = (d[begin + 1] - d[begin]) / (2 * e[begin]);
  g = d[end] - d[begin] + e[begin] / (g + std::copysign(std::hypot(g, 1.0), g));
  double s = 1, c = 1, p = 0;
  for (size_t i = end; i-- > begin;) {
    double f = s * e[i], b = c * e[i], r = std::hypot(f, g);
    e[i + 1] = r;
    if (r == 0) {  // the block falls apart here
      d[i + 1] -= p;
      e[end] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    rotate(t.basis[i], t.basis[i + 1], c, s);
  }
  d[begin] -= p;
  e[begin] = g;
  e[end] = 0;
}

// The end of the block that begins here and is not diagonal yet.
size_t block_end(const Tridiagonal& t, size_t begin) {
  size_t end = begin;
  while (end + 1 < t.diagonal.size()) {
    double around = std::abs(t.diagonal[end]) + std::abs(t.diagonal[end + 1]);
    if (std::abs(t.beside[end]) <= std::numeric_limits<double>::epsilon() * around) break;
    ++end;
  }
  return end;
}

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<std::vector<double>> rows) {
  constexpr int kMostSteps = 64;  // two or three are usual
  size_t n = rows.size();
  Tridiagonal t = tridiagonal(std::move(rows));
  for (size_t begin = 0; begin < n; ++begin)
    for (int step = 0; step < kMostSteps; ++step) {
      size_t end = block_end(t, begin);
      if (end == begin) break;
      ql_step(t, begin, end);
    }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return t.diagonal[a] > t.diagonal[b]; });
  SymmetricEigen made;
  for (size_t from : order) {
    made.values.push_back(t.diagonal[from]);
    made.vectors.push_back(std::move(t.basis[from]));
  }
  return made;
}

}  // namespace stoker::compress
