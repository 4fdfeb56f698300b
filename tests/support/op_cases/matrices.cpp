// factorize, solve: matrices that are far from singular.
#include "support/op_cases.h"

namespace stoker::test {

namespace {

// A matrix whose diagonal dominates: draws in [-1, 1], the diagonal apart by whole numbers.
std::vector<double> dominant(int64_t n) {
  std::vector<double> values;
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double off = double((row * 7 + column * 3 + row * column) % 11) / 16 - 0.3125;
      values.push_back(row == column ? double(n + row + 1) : off);
    }
  return values;
}

// The scale of all outputs: that of the largest.
Bound of_matrices(double rows) {
  return scaled(64 * rows, [](const OpRun& run) {
    double most = 1;
    for (const Tensor& tensor : run.expected)
      if (is_floating(tensor.dtype())) most = std::max(most, largest(tensor));
    return std::vector<double>(run.expected.size(), most);
  });
}

void add_factorize_cases(OpCaseTable& table) {
  OpCases& cases = table["factorize"];
  auto attrs = [](const std::string& fn) { return Attrs{{"fn", fn}}; };
  for (std::string fn : {"cholesky", "lu", "eigh", "eig", "qr", "svd"}) {
    for (int64_t n : {1, 2, 5})
      cases.good.push_back({fn + "_" + std::to_string(n),
                            attrs(fn),
                            {{{n, n}, {.values = dominant(n)}}},
                            of_matrices(double(n))});
    cases.good.push_back(
        {fn + "_batch", attrs(fn), {{{2, 3, 3, 3}, {.values = dominant(3)}}}, of_matrices(3)});
    cases.good.push_back(
        {fn + "_large", attrs(fn), {{{33, 33}, {.values = dominant(33)}}}, of_matrices(33), false});
  }
  for (std::string fn : {"qr", "svd"}) {
    std::vector<double> values;
    for (int i = 0; i < 12; ++i) values.push_back(double(i * i % 17) / 4 - 1.5 + i % 3);
    cases.good.push_back({fn + "_tall", attrs(fn), {{{4, 3}, {.values = values}}}, of_matrices(4)});
    cases.good.push_back({fn + "_wide", attrs(fn), {{{3, 4}, {.values = values}}}, of_matrices(4)});
  }
  // The order of rows is an integer.
  cases.differentiable_outputs = 4;
  cases.bad = {{"a vector", attrs("qr"), {{kFloat32, {3}}}},
               {"no square", attrs("cholesky"), {{kFloat32, {3, 4}}}},
               {"16 bits", attrs("qr"), {{DType::float16, {3, 3}}}}};
}

void add_solve_cases(OpCaseTable& table) {
  OpCases& cases = table["solve"];
  auto attrs = [](const std::string& fn) { return Attrs{{"fn", fn}}; };
  for (std::string fn : {"general", "lower", "upper"}) {
    cases.good.push_back(
        {fn, attrs(fn), {{{4, 4}, {.values = dominant(4)}}, {{4, 3}}}, of_matrices(4)});
    cases.good.push_back({fn + "_batch",
                          attrs(fn),
                          {{{5, 3, 3}, {.values = dominant(3)}}, {{5, 3, 1}}},
                          of_matrices(3)});
    cases.good.push_back({fn + "_large",
                          attrs(fn),
                          {{{40, 40}, {.values = dominant(40)}}, {{40, 7}}},
                          of_matrices(40),
                          false});
  }
  TensorSpec a{kFloat32, {3, 3}};
  cases.bad = {{"a right side of another height", attrs("general"), {a, {kFloat32, {4, 2}}}},
               {"a vector", attrs("general"), {a, {kFloat32, {3}}}},
               {"no square", attrs("lower"), {{kFloat32, {3, 4}}, {kFloat32, {3, 2}}}},
               {"no right side", attrs("upper"), {a}}};
}

}  // namespace

void add_matrix_cases(OpCaseTable& table) {
  add_factorize_cases(table);
  add_solve_cases(table);
}

}  // namespace stoker::test
