#include "engine/cpu/ops/gemm.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

constexpr int64_t kTile = KernelTable::kGemmRows, kWidth = 16;  // a tile of c
// A block of b (kDepth × kColumns) stays in a core's second-level cache.
constexpr int64_t kDepth = 256, kColumns = 256, kRows = 12 * kTile;

int64_t floats_of_worker() { return kDepth * (kColumns + kRows) + kTile * kernels().gemm_columns; }

// The first `count` columns of `depth` rows → panels of [depth, kPanel]; zeros behind the last
template <int64_t kPanel>
void pack(const float* from, int64_t line, int64_t depth, int64_t count, float* to) {
  for (int64_t first = 0; first + kPanel <= count; first += kPanel)
    for (int64_t i = 0; i < depth; ++i, to += kPanel)
      std::memcpy(to, from + i * line + first, kPanel * sizeof(float));
  int64_t rest = count % kPanel;
  for (int64_t i = 0; i < depth && rest > 0; ++i, to += kPanel)
    for (int64_t column = 0; column < kPanel; ++column)
      to[column] = column < rest ? from[i * line + count - rest + column] : 0;
}

// A tile of c, of which `rows` and `columns` are wanted.
struct GemmTarget {
  float* c;
  int64_t line, rows, columns;
};

void run_tile(const float* a, const float* b, int64_t depth, const GemmTarget& to, bool add,
              float* edge) {
  auto tile = kernels().gemm_tile[to.rows - 1];
  if (to.columns == kWidth) return tile(a, b, depth, to.c, to.line, add);
  // The last columns fill no tile: by way of one that stands alone.
  auto bytes = size_t(to.columns) * sizeof(float);
  tile(a, b, depth, edge, kWidth, false);
  for (int64_t row = 0; row < to.rows; ++row) {
    float* c = to.c + row * to.line;
    for (int64_t i = 0; i < to.columns && add; ++i) edge[row * kWidth + i] += c[i];
    std::memcpy(c, edge + row * kWidth, bytes);
  }
}

}  // namespace

bool Gemm::pays() const { return kernels().lanes == 8 && m % 256 == 0 && n >= 128 && k >= 128; }

int64_t Gemm::scratch_floats(int workers) const { return workers * floats_of_worker(); }

void Gemm::run_columns(int64_t begin, int64_t end, const float* a, const float* b, float* c,
                       float* scratch) const {
  float *packed_b = scratch, *packed_a = packed_b + kDepth * kColumns,
        *edge = packed_a + kDepth * kRows;
  for (int64_t j = begin; j < end; j += kColumns)
    for (int64_t p = 0; p < k; p += kDepth) {
      int64_t columns = std::min(kColumns, end - j), depth = std::min(kDepth, k - p);
      pack<kWidth>(b + p * n + j, n, depth, columns, packed_b);
      for (int64_t i = 0; i < m; i += kRows) {
        int64_t rows = std::min(kRows, m - i);
        pack<kTile>(a + p * m + i, m, depth, rows, packed_a);
        // Rows outside: those of a stay in the first-level cache while b streams from the second.
        for (int64_t row = 0; row < rows; row += kTile)
          for (int64_t column = 0; column < columns; column += kWidth)
            run_tile(packed_a + row * depth, packed_b + column * depth, depth,
                     {c + (i + row) * n + j + column, n, std::min(kTile, rows - row),
                      std::min(kWidth, columns - column)},
                     p > 0, edge);
      }
    }
}

// By columns: each worker packs its own part of b.
void Gemm::run(const float* a, const float* b, float* c, float* scratch) const {
  parallel_team(m * n * k / 16, kGrain, [&](int worker, int workers) {
    Part part = part_of(n, worker, workers, kWidth);
    run_columns(part.begin, part.end, a, b, c, scratch + worker * floats_of_worker());
  });
}

}  // namespace stoker::cpu
