// What a block does for kernel layouts (shape.h): in their own launch, and in launches that take a
// few of them along.
#pragma once

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/shape.h"

namespace stoker::cuda {

constexpr int kLayoutWide = 4;  // numbers of a thread side by side
// A tile's rows from memory or to it, kLayoutWide numbers of a row per thread. `at(row, column)` is
// where a number lies, or -1 where there is none; rows of `packed` numbers lie together.
template <int kTile, class At, class Use>
__device__ inline void for_tile(At at, bool packed, Use use) {
  constexpr int kAcross = kTile / kLayoutWide;
  int column = int(threadIdx.x) % kAcross * kLayoutWide;
#pragma unroll
  for (int pass = 0; pass < kTile * kAcross / kBlock; ++pass) {
    int row = int(threadIdx.x) / kAcross + pass * (kBlock / kAcross);
    int64_t first = at(row, column);
    if (packed && first >= 0) {
      use(row, column, first, std::integral_constant<int, kLayoutWide>());
      continue;
    }
    for (int i = 0; i < kLayoutWide; ++i)
      if (int64_t one = at(row, column + i); one >= 0)
        use(row, column + i, one, std::integral_constant<int, 1>());
  }
}

// A block moves one tile; the graph's rows are (pixel, channel), cuDNN's are filters.
// `tile` is shared memory: [place][filter].
template <int kTile, class From, class To, auto Way, class List>
__device__ inline void lay_out(const List& c, int at_block, float (*tile)[kTile + 1]) {
  int which = 0, above = c.count;
  while (above - which > 1) {  // the last one that starts at or before this block
    int middle = (which + above) / 2;
    (c.first_block[middle] <= at_block ? which : above) = middle;
  }
  int block = at_block - c.first_block[which];
  int channels = c.channels[which], padded = c.padded[which], filters = c.filters[which];
  int wide = c.pixels[which] * padded;  // a filter's numbers in cuDNN's layout
  int across = (filters + kTile - 1) / kTile;
  int filter0 = block % across * kTile, place0 = block / across * kTile;
  // Rows of the tile are places here, and filters there.
  auto in_graph = [&](int row, int column) -> int64_t {
    int place = place0 + row, filter = filter0 + column;
    if (place >= wide || filter >= filters || place % padded >= channels) return -1;
    return (int64_t(place / padded) * channels + place % padded) * filters + filter;
  };
  auto in_cudnn = [&](int row, int column) -> int64_t {
    int place = place0 + column, filter = filter0 + row;
    return place < wide && filter < filters ? int64_t(filter) * wide + place : -1;
  };
  const From* from = static_cast<const From*>(c.from[which]);
  To* to = static_cast<To*>(c.to[which]);
  auto read = [&]<class N>(int place, int filter, int place_step, int64_t at, N) {
    float values[N::value];
    load_floats<N::value>(from + at, values);
#pragma unroll
    for (int i = 0; i < N::value; ++i)
      tile[place + i * place_step][filter + i * (1 - place_step)] = values[i];
  };
  auto write = [&]<class N>(int place, int filter, int place_step, int64_t at, N) {
    float values[N::value];
#pragma unroll
    for (int i = 0; i < N::value; ++i)
      values[i] = tile[place + i * place_step][filter + i * (1 - place_step)];
    store_floats<N::value>(values, to + at);
  };
  bool graph_packed = filters % kLayoutWide == 0, cudnn_packed = wide % kLayoutWide == 0;
  if constexpr (int(Way) == int(List::Way::to_cudnn)) {
    for (int i = int(threadIdx.x); padded > channels && i < kTile * kTile; i += kBlock)
      tile[i / kTile][i % kTile] = 0;
    __syncthreads();
    for_tile<kTile>(in_graph, graph_packed,
                    [&](int row, int column, int64_t at, auto n) { read(row, column, 0, at, n); });
    __syncthreads();
    for_tile<kTile>(in_cudnn, cudnn_packed,
                    [&](int row, int column, int64_t at, auto n) { write(column, row, 1, at, n); });
  } else {
    for_tile<kTile>(in_cudnn, cudnn_packed,
                    [&](int row, int column, int64_t at, auto n) { read(column, row, 1, at, n); });
    __syncthreads();
    for_tile<kTile>(in_graph, graph_packed,
                    [&](int row, int column, int64_t at, auto n) { write(row, column, 0, at, n); });
  }
}

}  // namespace stoker::cuda
