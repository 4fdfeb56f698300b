// What both kernels of a stem for photographs (rgb_stem.h) share: tiles of y, and how x comes
// there.
#pragma once

#include "engine/cuda/kernels/divisor.cuh"
#include "engine/cuda/kernels/rgb_stem.h"
#include "engine/cuda/kernels/tensor_cores.cuh"

namespace stoker::cuda::rgb {

// A block makes tiles of 8×16 pixels of y, one after the other, and loads the next one's numbers
// while it multiplies.
constexpr int kWarps = 4, kThreads = kWarps * 32, kResident = 3;
constexpr int kTileRows = 8, kTileColumns = 16;
constexpr int kSlab = 64;  // filters of a block
constexpr int kChannels = 3;
constexpr int kStep = 2 * kChannels;  // from the first tap of a pixel of y to that of the next

// The taps of a kernel's row lie side by side in a row of x. They are cut into groups of eight,
// filled up with zeros: two groups are the sixteen terms of a product. Pixels of one row of y see
// group q of the next row's window as group q + 2 · kGroups of their own.
template <int K>
struct Window {
  static constexpr int kTaps = K * kChannels;
  static constexpr int kGroups = (kTaps + 7) / 8;  // of a row
  static constexpr int kAll = K * kGroups;
  static constexpr int kProducts = (kAll + 1) / 2;
  static constexpr int kRows = 2 * (kTileRows - 1) + K;                    // of x under a tile
  static constexpr int kPasses = (kRows + 2 * kWarps - 1) / (2 * kWarps);  // of half of them
};

struct Tiles {
  Divisor across, down;
  unsigned count;
  int high, wide;  // rows of x, and numbers of a row, that y sees: what is beyond does not exist
  int line;        // numbers of a row of y

  explicit Tiles(const ConvShape& s)
      : across(int(blocks_for(s.out_width, kTileColumns))),
        down(int(blocks_for(s.out_height, kTileRows))),
        count(across.by * down.by * unsigned(s.batch)),
        high(std::clamp(2 * (s.out_height - 1) + s.kernel_y - s.top, 0, s.height)),
        wide(std::clamp(2 * (s.out_width - 1) + s.kernel_x - s.left, 0, s.width) * kChannels),
        line(s.out_width * s.filters) {}
};

// A tile's corner in y.
struct Place {
  int image, row, column;

  __device__ Place(const Tiles& p, unsigned tile) {
    unsigned line = p.across.divide(tile), above = p.down.divide(line);
    image = int(above);
    row = int(line - above * p.down.by) * kTileRows;
    column = int(tile - line * p.across.by) * kTileColumns;
  }
  // Of the first filter of the pixel so far from the corner.
  __device__ int64_t at(const ConvShape& s, const Tiles& p, int down, int along) const {
    return int64_t(image * s.out_height + row + down) * p.line + (column + along) * s.filters;
  }
};

// The number at from[Offset], or zero where there is none: one instruction that waits for nothing.
template <int Offset>
__device__ inline unsigned load_if(bool exists, const unsigned short* from) {
  unsigned number;
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %1, 0; mov.u32 %0, 0; @p ld.global.nc.u16 %0, [%2 + %3];}"
      : "=r"(number)
      : "r"(unsigned(exists)), "l"(from), "n"(Offset * 2));
  return number;
}

// What a thread carries of one half of the rows of x under a tile: numbers lane, + Second, + 32 and
// + 32 + Second of every fourth row, one in a word, because packing them would wait for them.
template <int K, int Second>
struct Carried {
  unsigned numbers[Window<K>::kPasses][4];

  static __device__ int row(int half, int pass) {
    return (half * Window<K>::kPasses + pass) * kWarps + int(threadIdx.x) / 32;
  }

  __device__ void load(const DirectConv& c, const Tiles& p, unsigned tile, int half) {
    const ConvShape& s = c.shape;
    const Place at(p, tile);
    const int pitch = s.width * kChannels, lane = int(threadIdx.x) % 32;
    const int first = (2 * at.column - s.left) * kChannels + lane;
    const auto* from =
        static_cast<const unsigned short*>(c.x) + int64_t(at.image) * s.height * pitch + first;
#pragma unroll
    for (int pass = 0; pass < Window<K>::kPasses; ++pass) {
      const int line = 2 * at.row - s.top + row(half, pass);
      const unsigned end = unsigned(line) < unsigned(p.high) ? unsigned(p.wide) : 0;
      const unsigned short* numbers_from = from + line * pitch;
      unsigned* to = numbers[pass];
      to[0] = load_if<0>(unsigned(first) < end, numbers_from);
      to[1] = load_if<Second>(unsigned(first + Second) < end, numbers_from);
      to[2] = load_if<32>(unsigned(first + 32) < end, numbers_from);
      to[3] = load_if<32 + Second>(unsigned(first + 32 + Second) < end, numbers_from);
    }
  }
};

inline dim3 grid_for(const ConvShape& s) {
  unsigned slabs = blocks_for(s.filters, kSlab);
  return {blocks_for(Tiles(s).count, 1, std::max(1U, 132 * kResident / slabs)), slabs};
}

// function(T(), K) with K as a constant of its own type.
template <class Function>
void visit_stem(const DirectConv& call, Function function) {
  visit_half(call.dtype, [&]<class T>(T type) {
    switch (call.shape.kernel_y) {
      case 2:
        return function(type, std::integral_constant<int, 2>());
      case 3:
        return function(type, std::integral_constant<int, 3>());
      case 4:
        return function(type, std::integral_constant<int, 4>());
      case 5:
        return function(type, std::integral_constant<int, 5>());
      case 6:
        return function(type, std::integral_constant<int, 6>());
      default:
        return function(type, std::integral_constant<int, 7>());
    }
  });
}

}  // namespace stoker::cuda::rgb
