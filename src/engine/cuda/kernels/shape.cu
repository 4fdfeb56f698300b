#include "engine/cuda/kernels/shape.h"

#include "engine/cuda/kernels/layouts.cuh"

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

// Sides of a tile: large ones for long rows in memory; of a few kernels small ones, which more
// multiprocessors share and a thread goes through once.
constexpr int kLargeTile = 64, kSmallTile = 32, kFewTiles = 132;

template <int kTile, class From, class To, KernelLayouts::Way Way>
__global__ void __launch_bounds__(kBlock) kernel_layouts(const __grid_constant__ KernelLayouts c) {
  __shared__ float tile[kTile][kTile + 1];
  lay_out<kTile, From, To, Way>(c, int(blockIdx.x), tile);
}

// A block has a line of the target, a thread kWide of its numbers at a time. kSame: pixels have as
// many channels on both sides, so that their vectors are aligned.
template <class E, int kWide, bool kSame>
__global__ void __launch_bounds__(kBlock) frame_copy(const __grid_constant__ FrameCopy c) {
  using Vector = std::conditional_t<kWide * sizeof(E) == 16, uint4, E>;
  const int64_t lines = c.images * c.to_rows;
  const int per_pixel = c.to_channels / kWide, items = c.to_columns * per_pixel;
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    const int row = int(line % c.to_rows) - c.top;
    const bool row_there = row >= 0 && row < c.rows;
    const E* from =
        static_cast<const E*>(c.from) + (line / c.to_rows * c.rows + row) * c.columns * c.channels;
    E* to = static_cast<E*>(c.to) + line * c.to_columns * c.to_channels;
    for (int item = int(threadIdx.x); item < items; item += kBlock) {
      const int column = item / per_pixel - c.left, channel = item % per_pixel * kWide;
      const bool there = row_there && column >= 0 && column < c.columns;
      const E* source = from + int64_t(column) * c.channels + channel;
      Vector vector = {};
      if constexpr (kSame) {
        if (there) vector = *reinterpret_cast<const Vector*>(source);
      } else {
        alignas(16) E numbers[kWide] = {};
#pragma unroll
        for (int i = 0; i < kWide; ++i)
          if (there && channel + i < c.channels) numbers[i] = source[i];
        vector = *reinterpret_cast<const Vector*>(numbers);
      }
      *reinterpret_cast<Vector*>(to + int64_t(item) * kWide) = vector;
    }
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

void run_kernel_layouts(KernelLayouts& call, cudaStream_t stream) {
  int blocks = call.cut(kLargeTile);
  if (blocks == 0) return;
  if (blocks < kFewTiles)
    launch_kernel_layouts<kSmallTile>(call, call.cut(kSmallTile), stream);
  else
    launch_kernel_layouts<kLargeTile>(call, blocks, stream);
  check_launch("kernel_layouts");
}

void run_frame_copy(const FrameCopy& call, cudaStream_t stream) {
  const int64_t lines = call.images * call.to_rows;
  if (lines * call.to_columns * call.to_channels == 0) return;
  auto launch = [&]<class E, int kWide>(E, std::integral_constant<int, kWide>) {
    auto kernel = call.channels == call.to_channels ? frame_copy<E, kWide, true>
                                                    : frame_copy<E, kWide, false>;
    kernel<<<blocks_for(lines, 1, 1 << 20), kBlock, 0, stream>>>(call);
  };
  using One = std::integral_constant<int, 1>;
  if (call.element == 2 && call.to_channels % 8 == 0)
    launch(uint16_t{}, std::integral_constant<int, 8>());
  else if (call.element == 4 && call.to_channels % 4 == 0)
    launch(uint32_t{}, std::integral_constant<int, 4>());
  else if (call.element == 2)
    launch(uint16_t{}, One());
  else
    launch(uint32_t{}, One());
  check_launch("frame_copy");
}

}  // namespace stoker::cuda
