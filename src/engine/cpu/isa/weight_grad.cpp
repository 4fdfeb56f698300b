// The weight gradient of a convolution is, for every tap, a sum over pixels of outer products:
// channels of x times filters of dy. A tile of them fills the registers.
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/vector.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

// 6 × 4 vectors of sums leave room for four of dy and one of x with AVX-512's 32 registers.
constexpr int kChannels = kLanes == 16 ? 6 : 4, kVectors = kLanes == 16 ? 4 : 2;

void weight_grad_tile(const float* x, int64_t x_line, int64_t x_step, const float* dy,
                      int64_t dy_line, int64_t rows, int64_t columns, float* sum) {
  Vector total[kChannels][kVectors] = {};
  for (int64_t row = 0; row < rows; ++row, x += x_line, dy += dy_line) {
    const float *from = x, *with = dy;
    for (int64_t column = 0; column < columns;
         ++column, from += x_step, with += kVectors * kLanes) {
      Vector d[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) d[v] = load<Vector>(with + v * kLanes);
#pragma GCC unroll 6
      for (int c = 0; c < kChannels; ++c) {
        Vector a = Vector{} + from[c];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) total[c][v] = multiply_add(a, d[v], total[c][v]);
      }
    }
  }
#pragma GCC unroll 6
  for (int c = 0; c < kChannels; ++c)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* to = sum + (c * kVectors + v) * kLanes;
      store(to, load<Vector>(to) + total[c][v]);
    }
}

#ifdef __AVX2__
// The same on images in blocks of channels: half a block of x with kUsed blocks of filters of dy.
// 4 × 3 vectors of sums, three of dy and one of x fill AVX2's 16 registers.
template <int kUsed>
void weight_grad_blocks(const float* x, const float* dy, const WeightGradBlocks& g, int64_t rows,
                        int64_t columns, float* sum) {
  constexpr int kBlock = 8, kHalf = 4;
  typedef float Block __attribute__((vector_size(4 * kBlock)));
  Block total[kHalf][kUsed] = {};
  for (int64_t row = 0; row < rows; ++row, x += g.x_line, dy += g.dy_line) {
    const float *from = x, *with = dy;
    for (int64_t column = 0; column < columns; ++column, from += g.x_step, with += kBlock) {
      Block d[kUsed];
#pragma GCC unroll 3
      for (int f = 0; f < kUsed; ++f) d[f] = load<Block>(with + f * g.dy_block);
#pragma GCC unroll 4
      for (int c = 0; c < kHalf; ++c) {
        Block a = Block{} + from[c];
#pragma GCC unroll 3
        for (int f = 0; f < kUsed; ++f) total[c][f] = _mm256_fmadd_ps(a, d[f], total[c][f]);
      }
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < kHalf; ++c)
#pragma GCC unroll 3
    for (int f = 0; f < kUsed; ++f) {
      float* to = sum + f * g.sum_block + c * kBlock;
      store(to, load<Block>(to) + total[c][f]);
    }
}
#endif

}  // namespace

void add_weight_grad(KernelTable& table) {
#ifdef __AVX2__
  table.weight_grad_blocks[0] = weight_grad_blocks<2>;
  table.weight_grad_blocks[1] = weight_grad_blocks<3>;
#endif
  table.tile_channels = kChannels;
  table.tile_filters = kVectors * kLanes;
  table.weight_grad_tile = weight_grad_tile;
}

}  // namespace stoker::cpu::STOKER_ISA
