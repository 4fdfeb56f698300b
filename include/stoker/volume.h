// What the options of layers over volumes, [B, D, H, W, C], are made of.
#pragma once

#include <array>
#include <cstdint>

namespace stoker {

// Depth, height and width: 3 or {3, 5, 5}.
struct Size3 {
  int64_t depth, height, width;
  Size3(int64_t all) : depth(all), height(all), width(all) {}
  Size3(int64_t d, int64_t h, int64_t w) : depth(d), height(h), width(w) {}
  friend bool operator==(const Size3&, const Size3&) = default;
};

// Voxels at the six faces: 1, {planes, rows, columns} or {{front, back}, {top, bottom}, {left, right}}.
struct Edges3 {
  std::array<int64_t, 2> depth, height, width;
  Edges3(int64_t all) : Edges3(all, all, all) {}
  Edges3(int64_t planes, int64_t rows, int64_t columns)
      : depth{planes, planes}, height{rows, rows}, width{columns, columns} {}
  Edges3(std::array<int64_t, 2> planes, std::array<int64_t, 2> rows, std::array<int64_t, 2> columns)
      : depth(planes), height(rows), width(columns) {}
  friend bool operator==(const Edges3&, const Edges3&) = default;
};

}  // namespace stoker
