// What kernels over matrices [rows, channels] share: a thread takes the same few channels of many
// rows.
#pragma once

#include <numeric>

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

// N elements as they were loaded. Sixteen bytes stay four registers until they are used; eight
// floats would be eight.
template <class T, int N>
using Raw = std::conditional_t<sizeof(T) * N == 16, uint4, T>;

// Zeros where there is nothing to load: no branch then stands between a load and its use, so that
// all loads of a loop are in flight at once.
template <class T, int N>
__device__ inline void load_raw(const T* from, bool there, Raw<T, N>& to) {
  if constexpr (sizeof(T) * N == 16) {
    to = make_uint4(0, 0, 0, 0);
    const auto* raw = reinterpret_cast<const uint4*>(from);
    if (there) to = *raw;
  } else {
    to = from_float<T>(0);
    if (there) to = *from;
  }
}

template <class T, int N>
__device__ inline Pack<T, N> unpack(const Raw<T, N>& raw) {
  static_assert(sizeof(raw) == sizeof(Pack<T, N>));
  return *reinterpret_cast<const Pack<T, N>*>(&raw);
}

inline int lanes_for(DType dtype, int64_t channels) {
  int lanes = dtype == DType::float32 ? 4 : 8;
  return channels % lanes == 0 ? lanes : 1;
}

// How many rows are taken as one, so that a row of a channel count that no vector divides is made of
// vectors all the same: [rows / fold, fold · channels]. Channel c is then c % channels.
inline int64_t fold_of(DType dtype, int64_t rows, int64_t channels) {
  int64_t lanes = dtype == DType::float32 ? 4 : 8, fold = lanes / std::gcd(lanes, channels);
  return rows % fold == 0 ? fold : 1;
}

// function(T, lanes) with both known at compile time
template <class Function>
void with_lanes(DType dtype, int64_t channels, Function function) {
  visit_float(dtype, [&]<class T>(T) {
    if (lanes_for(dtype, channels) == 1)
      function(T{}, std::integral_constant<int, 1>());
    else
      function(T{}, std::integral_constant<int, kLanes<T>>());
  });
}

// The channels of a thread begin here; `columns` threads lie side by side. Beyond all channels for
// threads that are left over.
template <int N>
__device__ inline int64_t first_channel(int columns) {
  if (int(threadIdx.x) >= kBlock / columns * columns) return std::numeric_limits<int64_t>::max();
  return (int64_t(blockIdx.x) * columns + threadIdx.x % unsigned(columns)) * N;
}

// kernel(call, columns) with `lanes` channels a thread, up to 32 threads side by side, rows in
// strides; as many blocks as run at once.
template <class Call>
void launch_rows(void (*kernel)(Call, int), const Call& call, int64_t rows, int64_t channels,
                 int lanes, cudaStream_t stream) {
  constexpr int64_t kMostColumns = 32;
  int resident = 0;
  // Equally many threads side by side in every slab of the channels.
  const int64_t vectors = channels / lanes, parts = (vectors + kMostColumns - 1) / kMostColumns;
  const int columns = int((vectors + parts - 1) / parts);
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kBlock, 0),
        "the size of a launch");
  unsigned slabs = blocks_for(channels, int64_t(columns) * lanes);
  unsigned most = std::max(1U, 132 * unsigned(resident) / slabs);
  dim3 grid(slabs, blocks_for(rows, kBlock / columns, most));
  kernel<<<grid, kBlock, 0, stream>>>(call, columns);
}

}  // namespace stoker::cuda
