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
