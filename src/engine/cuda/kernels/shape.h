// The same numbers at other places: copies between strided views, and convolution kernels between
// the layout of the graph and that of cuDNN.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

// to[to_offset + Σ i·to_strides] = from[from_offset + Σ i·from_strides] for every index of `dims`.
struct StridedCopy {
  static constexpr int kMaxRank = 8;
  int element = 4;  // bytes: 1, 2, 4 or 8
  int rank = 0;
  int64_t dims[kMaxRank] = {}, from_strides[kMaxRank] = {}, to_strides[kMaxRank] = {};
  int64_t from_offset = 0, to_offset = 0, elements = 0;
  const void* from = nullptr;
  void* to = nullptr;
};
void run_strided_copy(const StridedCopy& call, cudaStream_t stream);

// `value` is the bit pattern of one element.
void run_fill(void* to, int element, int64_t elements, uint64_t value, cudaStream_t stream);

// Convolution kernels [pixels, channels, filters] ↔ [filters, pixels, padded channels], many in one
// launch, with a change of dtype on the way. Padding is written as zeros and left out on the way
// back.
template <int Most>
struct KernelLayoutsOf {
  static constexpr int kMost = Most;
  enum class Way : uint8_t { to_cudnn, from_cudnn };
  Way way = Way::to_cudnn;
  DType from_dtype = DType::float32, to_dtype = DType::float32;
  int count = 0;
  const void* from[kMost];
  void* to[kMost];
  int pixels[kMost], channels[kMost], padded[kMost], filters[kMost];
  int first_block[kMost + 1];

  void add(const void* source, void* target, int64_t pixel_count, int64_t channel_count,
           int64_t padded_count, int64_t filter_count) {
    from[count] = source;
    to[count] = target;
    pixels[count] = int(pixel_count);
    channels[count] = int(channel_count);
    padded[count] = int(padded_count);
    filters[count] = int(filter_count);
    ++count;
  }
  // Into square tiles, a block each; how many.
  int cut(int tile) {
    auto tiles = [&](int extent) { return (extent + tile - 1) / tile; };
    first_block[0] = 0;
    for (int i = 0; i < count; ++i)
      first_block[i + 1] = first_block[i] + tiles(pixels[i] * padded[i]) * tiles(filters[i]);
    return first_block[count];
  }
};
using KernelLayouts = KernelLayoutsOf<200>;
// A launch copies all of it: this is what one with other work takes along.
using FewLayouts = KernelLayoutsOf<16>;
void run_kernel_layouts(KernelLayouts& call, cudaStream_t stream);

// Images in another frame: what lies outside the target is cut off, what it has beyond is zeros.
struct FrameCopy {
  int element = 2;  // bytes: 2 or 4
  int64_t images = 0;
  int rows = 0, columns = 0, channels = 0;           // of an image of `from`
  int to_rows = 0, to_columns = 0, to_channels = 0;  // and of `to`
  int top = 0, left = 0;  // where the first pixel of `from` lies in `to`; negative: outside
  const void* from = nullptr;
  void* to = nullptr;
};
void run_frame_copy(const FrameCopy& call, cudaStream_t stream);

}  // namespace stoker::cuda
