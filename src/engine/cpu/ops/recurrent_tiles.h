// How a step of a recurrent layer is divided: into tiles of a few rows of the batch by two vectors
// of units. A tile's product with the recurrent kernel, which is packed once per run, and the gates
// behind it are one piece of work, its result in the first-level cache. A tile's numbers do not
// depend on the thread that computes it.
#pragma once

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/team.h"
#include "graph/ops/recurrent.h"

namespace stoker::cpu {

inline constexpr int64_t kTileRows = KernelTable::kGemmRows;
inline constexpr int64_t kWidest = 32;  // gemm_columns of the widest instruction set

struct Tile {
  int64_t row, rows;    // of the batch
  int64_t unit, units;  // of the layer
  int64_t block;        // unit / width
};

struct RecurrentTiles {
  RecurrentShape shape;
  int64_t width = kernels().gemm_columns;

  explicit RecurrentTiles(const RecurrentShape& of) : shape(of) {}
  int64_t blocks() const { return (shape.units + width - 1) / width; }
  int64_t row_tiles() const { return (shape.batch + kTileRows - 1) / kTileRows; }

  // R as [blocks, gates, units, width], and Rᵀ as [blocks, gates · units, width]: floats of either.
  int64_t packed_kernel() const { return blocks() * width * shape.columns(); }
  void pack_kernel(const float* r, float* to) const;
  void pack_transposed(const float* r, float* to) const;

  // A matrix [B, columns] as [row tiles, columns, kTileRows].
  int64_t packed_rows(int64_t columns) const { return row_tiles() * kTileRows * columns; }
  void pack_rows(const float* x, int64_t columns, float* to) const;

  // body(tile) for all tiles, on the team.
  template <class Body>
  void for_each(const Body& body) const {
    int64_t rows = row_tiles(), count = blocks() * rows;
    int64_t work = shape.batch * shape.units * shape.columns() / 8;
    parallel_team(work, kGrain, [&](int worker, int workers) {
      Part part = part_of(count, worker, workers);
      for (int64_t i = part.begin; i < part.end; ++i) {
        int64_t block = i / rows, row = i % rows * kTileRows;
        body(Tile{row, least(kTileRows, shape.batch - row), block * width,
                  least(width, shape.units - block * width), block});
      }
    });
  }

 private:
  static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
};

}  // namespace stoker::cpu
