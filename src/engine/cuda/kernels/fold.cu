#include "engine/cuda/kernels/fold.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

// A thread writes one folded pixel: four pixels of C channels each, then zeros.
template <class T, int C>
__global__ void __launch_bounds__(kBlock)
    fold_image(const ConvShape s, const ConvShape f, const T* x, T* folded) {
  constexpr int kFolded = (4 * C + 7) / 8 * 8;
  unsigned total = unsigned(f.batch) * unsigned(f.height) * unsigned(f.width);
  for (unsigned pixel = blockIdx.x * kBlock + threadIdx.x; pixel < total;
       pixel += gridDim.x * kBlock) {
    int column = 2 * int(pixel % unsigned(f.width)) - s.left;
    unsigned above = pixel / unsigned(f.width);
    int row = 2 * int(above % unsigned(f.height)) - s.top;
    const T* image = x + int64_t(above / unsigned(f.height)) * s.height * s.width * C;
    Pack<T, 8> values[kFolded / 8];
#pragma unroll
    for (int i = 0; i < kFolded; ++i) {
      int r = row + i / C / 2, q = column + i / C % 2;
      bool inside = i < 4 * C && r >= 0 && r < s.height && q >= 0 && q < s.width;
      T value = from_float<T>(0);
      if (inside) value = image[(int64_t(r) * s.width + q) * C + i % C];
      values[i / 8].at[i % 8] = value;
    }
#pragma unroll
    for (int part = 0; part < kFolded / 8; ++part)
      reinterpret_cast<Pack<T, 8>*>(folded + int64_t(pixel) * kFolded)[part] = values[part];
  }
}

// One thread a number of the folded kernel.
template <class T, bool Back>
__global__ void fold_kernel(const ConvShape s, const ConvShape f, const T* from, T* to) {
  int item = int(blockIdx.x) * kBlock + int(threadIdx.x);
  if (item >= f.filters * f.kernel_y * f.kernel_x * f.channels) return;
  int place = item % f.channels, which = place / s.channels, channel = place % s.channels;
  int rest = item / f.channels;
  int kx = 2 * (rest % f.kernel_x) + which % 2;
  rest /= f.kernel_x;
  int ky = 2 * (rest % f.kernel_y) + which / 2, filter = rest / f.kernel_y;
  bool exists = which < 4 && ky < s.kernel_y && kx < s.kernel_x;
  int64_t at = (int64_t(ky * s.kernel_x + kx) * s.channels + channel) * s.filters + filter;
  if constexpr (Back) {
    if (exists) to[at] = from[item];
  } else {
    to[item] = exists ? from[at] : from_float<T>(0);
  }
}

template <bool Back>
void launch_fold_kernel(const ConvShape& shape, DType dtype, const void* from, void* to,
                        cudaStream_t stream) {
  ConvShape f = folded_shape(shape);
  int64_t items = int64_t(f.filters) * f.kernel_y * f.kernel_x * f.channels;
  visit_float(dtype, [&]<class T>(T) {
    fold_kernel<T, Back><<<blocks_for(items, kBlock), kBlock, 0, stream>>>(
        shape, f, static_cast<const T*>(from), static_cast<T*>(to));
  });
  check_launch(Back ? "unfold_kernel" : "fold_kernel");
}

}  // namespace

bool can_fold(const ConvShape& s, DType dtype) {
  return dtype != DType::float32 && s.groups == 1 && s.channels <= 4 && s.channels > 1 &&
         s.stride_y == 2 && s.stride_x == 2 && s.dilation_y == 1 && s.dilation_x == 1 &&
         s.kernel_y > 1 && s.kernel_x > 1 && s.filters % 8 == 0;
}

ConvShape folded_shape(const ConvShape& shape) {
  ConvShape f = shape;
  f.kernel_y = (shape.kernel_y + 1) / 2;
  f.kernel_x = (shape.kernel_x + 1) / 2;
  f.height = shape.out_height + f.kernel_y - 1;
  f.width = shape.out_width + f.kernel_x - 1;
  f.channels = (4 * shape.channels + 7) / 8 * 8;
  f.stride_y = f.stride_x = 1;
  f.top = f.bottom = f.left = f.right = 0;
  return f;
}

void run_fold_image(const ConvShape& shape, DType dtype, const void* x, void* folded,
                    cudaStream_t stream) {
  ConvShape f = folded_shape(shape);
  int64_t pixels = int64_t(f.batch) * f.height * f.width;
  visit_float(dtype, [&]<class T>(T) {
    auto kernel = shape.channels == 2   ? fold_image<T, 2>
                  : shape.channels == 3 ? fold_image<T, 3>
                                        : fold_image<T, 4>;
    kernel<<<blocks_for(pixels, kBlock), kBlock, 0, stream>>>(shape, f, static_cast<const T*>(x),
                                                              static_cast<T*>(folded));
  });
  check_launch("fold_image");
}

void run_fold_kernel(const ConvShape& shape, DType dtype, const void* w, void* folded,
                     cudaStream_t stream) {
  launch_fold_kernel<false>(shape, dtype, w, folded, stream);
}

void run_unfold_kernel(const ConvShape& shape, DType dtype, const void* folded, void* w,
                       cudaStream_t stream) {
  launch_fold_kernel<true>(shape, dtype, folded, w, stream);
}

}  // namespace stoker::cuda
