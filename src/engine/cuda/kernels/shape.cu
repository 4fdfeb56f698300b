#include "engine/cuda/kernels/shape.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

template <class E>
__global__ void __launch_bounds__(kBlock) strided_copy(const __grid_constant__ StridedCopy c) {
  for (int64_t item = int64_t(blockIdx.x) * kBlock + threadIdx.x; item < c.elements;
       item += int64_t(gridDim.x) * kBlock) {
    int64_t from = c.from_offset, to = c.to_offset, rest = item;
    for (int axis = c.rank - 1; axis >= 0; --axis) {
      int64_t index = rest % c.dims[axis];
      rest /= c.dims[axis];
      from += index * c.from_strides[axis];
      to += index * c.to_strides[axis];
    }
    static_cast<E*>(c.to)[to] = static_cast<const E*>(c.from)[from];
  }
}

template <class E>
__global__ void fill(E* to, int64_t elements, E value) {
  for (int64_t item = int64_t(blockIdx.x) * kBlock + threadIdx.x; item < elements;
       item += int64_t(gridDim.x) * kBlock)
    to[item] = value;
}

template <class Function>
void visit_bytes(int bytes, Function function) {
  switch (bytes) {
    case 1:
      return function(uint8_t{});
    case 2:
      return function(uint16_t{});
    case 4:
      return function(uint32_t{});
    default:
      return function(uint64_t{});
  }
}

// --- convolution kernels ---

constexpr int kWide = 4;  // numbers of a thread side by side
// Sides of a tile: large ones for long rows in memory; of a few kernels small ones, which more
// multiprocessors share and a thread goes through once.
constexpr int kLargeTile = 64, kSmallTile = 32, kFewTiles = 132;

// A tile's rows from memory or to it, kWide numbers of a row a thread. `at(row, column)` is where a
// number lies, or -1 where there is none; rows of `packed` numbers lie together.
template <int kTile, class At, class Use>
__device__ inline void for_tile(At at, bool packed, Use use) {
  constexpr int kAcross = kTile / kWide;
  int column = int(threadIdx.x) % kAcross * kWide;
#pragma unroll
  for (int pass = 0; pass < kTile * kAcross / kBlock; ++pass) {
    int row = int(threadIdx.x) / kAcross + pass * (kBlock / kAcross);
    int64_t first = at(row, column);
    if (packed && first >= 0) {
      use(row, column, first, std::integral_constant<int, kWide>());
      continue;
    }
    for (int i = 0; i < kWide; ++i)
      if (int64_t one = at(row, column + i); one >= 0)
        use(row, column + i, one, std::integral_constant<int, 1>());
  }
}

// A block moves one tile; the graph's rows are (pixel, channel), cuDNN's are filters.
template <int kTile, class From, class To, KernelLayouts::Way Way>
__global__ void __launch_bounds__(kBlock) kernel_layouts(const __grid_constant__ KernelLayouts c) {
  __shared__ float tile[kTile][kTile + 1];  // [place][filter]
  int which = 0, above = c.count;
  while (above - which > 1) {  // the last one that starts at or before this block
    int middle = (which + above) / 2;
    (c.first_block[middle] <= int(blockIdx.x) ? which : above) = middle;
  }
  int block = int(blockIdx.x) - c.first_block[which];
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
  bool graph_packed = filters % kWide == 0, cudnn_packed = wide % kWide == 0;
  if constexpr (Way == KernelLayouts::Way::to_cudnn) {
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

template <class T, bool kPad>
__global__ void __launch_bounds__(kBlock)
    pad_channels(const T* from, T* to, int64_t pixels, int channels, int padded) {
  int width = kPad ? padded : channels;
  for (int64_t item = int64_t(blockIdx.x) * kBlock + threadIdx.x; item < pixels * width;
       item += int64_t(gridDim.x) * kBlock) {
    int64_t pixel = item / width;
    int channel = int(item % width);
    if constexpr (kPad)
      to[item] = channel < channels ? from[pixel * channels + channel] : from_float<T>(0);
    else
      to[item] = from[pixel * padded + channel];
  }
}

template <int kTile>
void launch_kernel_layouts(const KernelLayouts& call, int blocks, cudaStream_t stream) {
  using Way = KernelLayouts::Way;
  visit_float(call.from_dtype, [&]<class From>(From) {
    visit_float(call.to_dtype, [&]<class To>(To) {
      if constexpr (std::is_same_v<From, float> || std::is_same_v<To, float> ||
                    std::is_same_v<From, To>) {
        if (call.way == Way::to_cudnn)
          kernel_layouts<kTile, From, To, Way::to_cudnn><<<blocks, kBlock, 0, stream>>>(call);
        else
          kernel_layouts<kTile, From, To, Way::from_cudnn><<<blocks, kBlock, 0, stream>>>(call);
      }
    });
  });
}

}  // namespace

void run_strided_copy(const StridedCopy& call, cudaStream_t stream) {
  if (call.elements == 0) return;
  visit_bytes(call.element, [&]<class E>(E) {
    strided_copy<E><<<blocks_for(call.elements, kBlock, 132 * 32), kBlock, 0, stream>>>(call);
  });
  check_launch("strided_copy");
}

void run_fill(void* to, int element, int64_t elements, uint64_t value, cudaStream_t stream) {
  if (elements == 0) return;
  visit_bytes(element, [&]<class E>(E) {
    fill<<<blocks_for(elements, kBlock, 132 * 32), kBlock, 0, stream>>>(static_cast<E*>(to),
                                                                        elements, E(value));
  });
  check_launch("fill");
}

void KernelLayouts::add(const void* source, void* target, int64_t pixel_count,
                        int64_t channel_count, int64_t padded_count, int64_t filter_count) {
  from[count] = source;
  to[count] = target;
  pixels[count] = int(pixel_count);
  channels[count] = int(channel_count);
  padded[count] = int(padded_count);
  filters[count] = int(filter_count);
  ++count;
}

int KernelLayouts::cut(int tile) {
  auto tiles = [&](int extent) { return (extent + tile - 1) / tile; };
  first_block[0] = 0;
  for (int i = 0; i < count; ++i)
    first_block[i + 1] = first_block[i] + tiles(pixels[i] * padded[i]) * tiles(filters[i]);
  return first_block[count];
}

void run_kernel_layouts(KernelLayouts& call, cudaStream_t stream) {
  int blocks = call.cut(kLargeTile);
  if (blocks == 0) return;
  if (blocks < kFewTiles)
    launch_kernel_layouts<kSmallTile>(call, call.cut(kSmallTile), stream);
  else
    launch_kernel_layouts<kLargeTile>(call, blocks, stream);
  check_launch("kernel_layouts");
}

void run_pad_channels(DType dtype, const void* from, void* to, int64_t pixels, int channels,
                      int padded, cudaStream_t stream) {
  visit_float(dtype, [&]<class T>(T) {
    pad_channels<T, true><<<blocks_for(pixels * padded, kBlock, 132 * 32), kBlock, 0, stream>>>(
        static_cast<const T*>(from), static_cast<T*>(to), pixels, channels, padded);
  });
  check_launch("pad_channels");
}

void run_unpad_channels(DType dtype, const void* from, void* to, int64_t pixels, int channels,
                        int padded, cudaStream_t stream) {
  visit_float(dtype, [&]<class T>(T) {
    pad_channels<T, false><<<blocks_for(pixels * channels, kBlock, 132 * 32), kBlock, 0, stream>>>(
        static_cast<const T*>(from), static_cast<T*>(to), pixels, channels, padded);
  });
  check_launch("unpad_channels");
}

}  // namespace stoker::cuda
