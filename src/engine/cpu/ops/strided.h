// Loops over tensors whose elements are reached by strides: broadcasting, slices, transposes. A
// loop is planned once (neighbouring dimensions that step alike become one) and then calls its body
// for whole runs of the last dimension.
#pragma once

#include <array>
#include <span>

#include <stoker/shape.h>

#include "engine/cpu/team.h"

namespace stoker::cpu {

template <int kOperands>
struct StridedLoop {
  using Offsets = std::array<int64_t, kOperands>;

  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> dims{};
  std::array<std::array<int64_t, Shape::kMaxRank>, kOperands> strides{};

  int64_t run() const { return rank == 0 ? 1 : dims[size_t(rank - 1)]; }
  int64_t runs() const {
    int64_t count = 1;
    for (int d = 0; d + 1 < rank; ++d) count *= dims[size_t(d)];
    return count;
  }
  // Between neighbours of a run.
  int64_t step(int operand) const {
    return rank == 0 ? 0 : strides[size_t(operand)][size_t(rank - 1)];
  }

  // Adds a dimension inside the ones so far.
  void append(int64_t extent, const Offsets& steps) {
    if (extent == 1) return;
    bool joins = rank > 0;
    for (int i = 0; i < kOperands && joins; ++i)
      joins = strides[size_t(i)][size_t(rank - 1)] == steps[size_t(i)] * extent;
    if (!joins) dims[size_t(rank++)] = 1;
    dims[size_t(rank - 1)] *= extent;
    for (int i = 0; i < kOperands; ++i) strides[size_t(i)][size_t(rank - 1)] = steps[size_t(i)];
  }

  Offsets offsets_of(int64_t index) const {  // of run `index`
    Offsets offsets{};
    for (int d = rank - 2; d >= 0; --d) {
      int64_t at = index % dims[size_t(d)];
      index /= dims[size_t(d)];
      for (int i = 0; i < kOperands; ++i) offsets[size_t(i)] += at * strides[size_t(i)][size_t(d)];
    }
    return offsets;
  }
};

// Row-major strides of `shape` seen as `to` by broadcasting: 0 along repeated dimensions.
std::array<int64_t, Shape::kMaxRank> broadcast_strides(const Shape& shape, const Shape& to);

// The loop of y = f(operands…) under broadcasting; operand 0 is y.
template <int kOperands>
StridedLoop<kOperands> broadcast_loop(const Shape& y,
                                      const std::array<Shape, kOperands - 1>& shapes) {
  std::array<std::array<int64_t, Shape::kMaxRank>, kOperands> strides{};
  strides[0] = broadcast_strides(y, y);
  for (size_t i = 0; i + 1 < kOperands; ++i) strides[i + 1] = broadcast_strides(shapes[i], y);
  StridedLoop<kOperands> loop;
  for (size_t d = 0; d < size_t(y.rank()); ++d) {
    typename StridedLoop<kOperands>::Offsets steps{};
    for (size_t i = 0; i < kOperands; ++i) steps[i] = strides[i][d];
    loop.append(y[int(d)], steps);
  }
  return loop;
}

// body(offsets, count): `count` elements of a run, starting at `offsets` of each operand. Long runs
// are divided too.
template <int kOperands, class Body>
void for_each_run(const StridedLoop<kOperands>& loop, const Body& body) {
  int64_t run = loop.run(), total = loop.runs() * run;
  parallel_for(total, kGrain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      int64_t within = begin % run;
      int64_t count = run - within < end - begin ? run - within : end - begin;
      auto offsets = loop.offsets_of(begin / run);
      for (int i = 0; i < kOperands; ++i) offsets[size_t(i)] += within * loop.step(i);
      body(offsets, count);
      begin += count;
    }
  });
}

}  // namespace stoker::cpu
