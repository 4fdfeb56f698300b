#include "engine/cpu/ops/recurrent_tiles.h"

namespace stoker::cpu {

// R: [units, gates · units]
void RecurrentTiles::pack_kernel(const float* r, float* to) const {
  const int64_t gates = shape.gates(), columns = shape.columns();
  parallel_for(blocks() * gates, kGrain / (shape.units * width) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t unit = i / gates * width, n = least(width, shape.units - unit);
                   const float* from = r + i % gates * shape.units + unit;
                   float* panel = to + i * shape.units * width;
                   for (int64_t row = 0; row < shape.units; ++row)
                     for (int64_t column = 0; column < width; ++column)
                       panel[row * width + column] = column < n ? from[row * columns + column] : 0;
                 }
               });
}

void RecurrentTiles::pack_transposed(const float* r, float* to) const {
  const int64_t columns = shape.columns();
  parallel_for(blocks(), kGrain / (columns * width) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      int64_t n = least(width, shape.units - block * width);
      const float* from = r + block * width * columns;
      float* panel = to + block * columns * width;
      for (int64_t row = 0; row < columns; ++row)
        for (int64_t column = 0; column < width; ++column)
          panel[row * width + column] = column < n ? from[column * columns + row] : 0;
    }
  });
}

void RecurrentTiles::pack_rows(const float* x, int64_t columns, float* to) const {
  for (int64_t row = 0; row < shape.batch; ++row)
    for (int64_t column = 0; column < columns; ++column)
      to[(row / kTileRows * columns + column) * kTileRows + row % kTileRows] =
          x[row * columns + column];
}

}  // namespace stoker::cpu
