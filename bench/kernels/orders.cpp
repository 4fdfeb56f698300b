// Ops of order, of places and of draws: sorting, running sums, lookups, segments, random numbers,
// resizing; and matrices, which are factorised on the host.
#include "kernels/cases.h"

namespace stoker::bench {

namespace {

// Forwards only: what has no gradient, or one of another op.
void add_forward(std::vector<KernelCase>& cases, const std::string& name,
                 std::vector<Operand> operands, std::function<Value(const Values&)> function) {
  cases.push_back({name, std::move(operands), std::move(function), false});
}

void add_matrices(const Sizes& sizes, std::vector<KernelCase>& cases) {
  // A sixteenth of the numbers: n of them take n^1.5 operations.
  int64_t side = sizes.odd() ? 63 : 64, count = sizes.elements() / (16 * side * side);
  Operand matrices{.shape = {count, side, side}, .wide = true};
  auto dominant = [side](const Value& x) {
    return ops::matmul(x, x, {.transpose_b = true}) + ops::eye(side) * double(side);
  };
  add_forward(cases, "cholesky of 64 x 64", {matrices},
              [dominant](const Values& x) { return ops::linalg::cholesky(dominant(x[0])); });
  add_forward(cases, "solve 64 x 64", {matrices, matrices},
              [dominant](const Values& x) { return ops::linalg::solve(dominant(x[0]), x[1]); });
  add_forward(cases, "eigh of 64 x 64", {matrices},
              [dominant](const Values& x) { return ops::linalg::eigh(dominant(x[0])).values; });
}

}  // namespace

void add_orders(const Sizes& sizes, std::vector<KernelCase>& cases) {
  Shape rows = sizes.rows_of(1024), image = sizes.images_of(56, 96);
  auto add = [&](const std::string& name, std::vector<Operand> operands, auto function) {
    cases.push_back({name, std::move(operands), function});
  };
  add("sort rows of 1024", {{rows}}, [](const Values& x) { return ops::sort(x[0]); });
  add("sort columns", {{rows}}, [](const Values& x) { return ops::sort(x[0], 0); });
  add("top 8 of 1024", {{rows}}, [](const Values& x) { return ops::top_k(x[0], 8).values; });
  add("median of 1024", {{rows}}, [](const Values& x) { return ops::median(x[0], {.axes = {1}}); });
  add("cumsum of rows", {{rows}}, [](const Values& x) { return ops::cumsum(x[0]); });
  add("cumsum of columns", {{rows}}, [](const Values& x) { return ops::cumsum(x[0], 0); });
  add("linear recurrence", {{rows}},
      [](const Values& x) { return ops::linear_recurrence(x[0], 0.9); });
  Operand places{.shape = rows, .ids = rows[1], .gradient = false};
  add("take along rows", {{rows}, places},
      [](const Values& x) { return ops::take_along_axis(x[0], x[1], 1); });
  Operand columns{.shape = {rows[1]}, .ids = rows[1], .gradient = false};
  add("take columns", {{rows}, columns}, [](const Values& x) { return ops::take(x[0], x[1], 1); });
  int64_t segments = 4096;
  Operand segment_ids{.shape = {rows[0]}, .ids = segments, .gradient = false};
  add("segment sum", {{rows}, segment_ids},
      [segments](const Values& x) { return ops::segment_sum(x[0], x[1], segments); });
  add("segment max", {{rows}, segment_ids},
      [segments](const Values& x) { return ops::segment_max(x[0], x[1], segments); });
  add_forward(cases, "bincount", {{.shape = {sizes.elements()}, .ids = 1000, .gradient = false}},
              [](const Values& x) { return ops::bincount(x[0], 1000); });
  add_forward(cases, "unique of 65536", {{.shape = {1 << 16}, .ids = 5000, .gradient = false}},
              [](const Values& x) { return ops::unique(x[0], {.size = 5000}).counts; });
  // Draws read nothing; the operand of the case goes unused.
  add_forward(cases, "random uniform", {{rows}},
              [rows](const Values&) { return ops::random::uniform(rows, {.seed = 1}); });
  add_forward(cases, "random normal", {{rows}},
              [rows](const Values&) { return ops::random::normal(rows, {.seed = 1}); });
  add_forward(cases, "random categorical", {{rows}}, [](const Values& x) {
    return ops::random::categorical(x[0], 4, {.dtype = DType::int32, .seed = 1});
  });
  for (std::string how : {"nearest", "bilinear", "bicubic"})
    add("resize to twice, " + how, {{sizes.images_of(28, 24)}}, [how](const Values& x) {
      const Shape& shape = x[0].shape();
      return ops::image::resize(x[0], {2 * shape[1], 2 * shape[2]}, {.interpolation = how});
    });
  add("resize to half, antialias", {{image}}, [](const Values& x) {
    const Shape& shape = x[0].shape();
    return ops::image::resize(x[0], {shape[1] / 2, shape[2] / 2}, {.antialias = true});
  });
  add_matrices(sizes, cases);
}

}  // namespace stoker::bench
