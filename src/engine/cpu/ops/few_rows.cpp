#include "engine/cpu/ops/few_rows.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/activation.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

constexpr int64_t kMostRows = 8;
// Rows of the matrix that stay in a core's cache while all rows of x meet them.
constexpr int64_t kBlockRows = 32;

struct FewRows {
  int64_t m, n, k;
  bool transposed;  // w: [n, k]

  // Columns [begin, end) of y; bias may be null.
  void run(const float* x, const float* w, const float* bias, float* y, Part part) const {
    if (transposed)
      run_dots(x, w, y, part);
    else
      run_sums(x, w, y, part);
    if (bias == nullptr) return;
    auto add = kernels().binary[kAdd];
    for (int64_t row = 0; row < m; ++row) {
      float* to = y + row * n + part.begin;
      add(to, bias + part.begin, to, part.end - part.begin);
    }
  }

 private:
  void run_dots(const float* x, const float* w, float* y, Part part) const {
    for (int64_t first = part.begin; first < part.end; first += kBlockRows)
      for (int64_t row = 0; row < m; ++row)
        kernels().dot_rows(x + row * k, w + first * k, k, std::min(kBlockRows, part.end - first), k,
                           1, y + row * n + first);
  }

  void run_sums(const float* x, const float* w, float* y, Part part) const {
    int64_t width = part.end - part.begin;
    for (int64_t row = 0; row < m; ++row)
      std::memset(y + row * n + part.begin, 0, size_t(width) * sizeof(float));
    for (int64_t first = 0; first < k; first += kBlockRows)
      for (int64_t row = 0; row < m; ++row)
        kernels().mix_rows(x + row * k + first, w + first * n + part.begin, n,
                           std::min(kBlockRows, k - first), width, y + row * n + part.begin);
  }
};

}  // namespace

bool build_few_rows(Builder& b, const Node& node) {
  int left = node.inputs[0], right = node.inputs[1];
  const Shape &x = b.shape(left), &w = b.shape(right), &y = b.shape(node.outputs[0]);
  if (!node.attrs.get_or("few_rows", false) || w.rank() != 2 ||
      b.spec(left).dtype != DType::float32 || node.attrs.get_or("transpose_a", false) ||
      y[-1] == 0 || x[-1] == 0)
    return false;
  FewRows rows{y.elements() / y[-1], y[-1], x[-1], node.attrs.get_or("transpose_b", false)};
  if (rows.m > kMostRows) return false;
  bool with_bias = node.inputs.size() > 2;
  Call call{own_kernel() + ":few_rows", {b.plain(left), b.plain(right)}, {}};
  if (with_bias) call.reads.push_back(b.plain(node.inputs[2]));
  int to = b.define(node.outputs[0]);
  call.writes = {to};
  b.emit(std::move(call), [=](Pointers p) {
    const float* bias = with_bias ? p.in<float>(2) : nullptr;
    parallel_team(rows.m * rows.n * rows.k / 4, kGrain, [&](int worker, int workers) {
      Part part = part_of(rows.n, worker, workers, 16);
      if (part.begin < part.end)
        rows.run(p.in<float>(0), p.in<float>(1), bias, p.out<float>(with_bias ? 3 : 2), part);
    });
  });
  Activation(node.attrs).emit(b, to, b.spec(node.outputs[0]), {});
  return true;
}

}  // namespace stoker::cpu
