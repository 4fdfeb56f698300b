#include "engine/cuda/kernels/patches.h"

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/divisor.cuh"

namespace stoker::cuda {

namespace {

// A patch's row is `run` elements of E side by side, in the image and in the patch alike.
struct PatchCopy {
  const void* from;
  void* to;
  int64_t runs;             // in all: B · H' · kh · W', as the image has them
  unsigned run, image_row;  // elements of E; image_row: of a row of the image
  unsigned across, kernel_y, patch_rows, height;
};

constexpr int kRunsInFlight = 4;

// Runs in the order of the image: neighbours there are neighbours in memory.
template <class E, bool Cut>
__global__ void __launch_bounds__(kBlock)
    copy_patches(const __grid_constant__ PatchCopy c, Divisor by_run) {
  const unsigned row_elements = c.across * c.run;
  const int64_t image_rows = c.runs / c.across;
  for (int64_t line = blockIdx.x; line < image_rows; line += gridDim.x) {
    const unsigned ky = unsigned(line % c.kernel_y);
    const int64_t patch_row = line / c.kernel_y;  // b · H' + oy
    const int64_t batch = patch_row / c.patch_rows, y = patch_row % c.patch_rows * c.kernel_y + ky;
    const int64_t image0 = (batch * c.height + y) * c.image_row;
    const int64_t patch0 = (patch_row * c.across * c.kernel_y + ky) * c.run;
    for (unsigned first = threadIdx.x; first < row_elements; first += kRunsInFlight * kBlock) {
      E loaded[kRunsInFlight];
      int64_t in_patch[kRunsInFlight];
#pragma unroll
      for (int u = 0; u < kRunsInFlight; ++u) {
        const unsigned at = first + unsigned(u) * kBlock;
        const unsigned patch = by_run.divide(at);
        in_patch[u] = patch0 + int64_t(patch) * c.kernel_y * c.run + (at - patch * c.run);
        if (at < row_elements)
          loaded[u] = static_cast<const E*>(c.from)[Cut ? image0 + at : in_patch[u]];
      }
#pragma unroll
      for (int u = 0; u < kRunsInFlight; ++u) {
        const unsigned at = first + unsigned(u) * kBlock;
        if (at < row_elements) static_cast<E*>(c.to)[Cut ? in_patch[u] : image0 + at] = loaded[u];
      }
    }
  }
}

template <bool Cut>
void copy(const ConvShape& s, DType dtype, const void* from, void* to, cudaStream_t stream) {
  const int64_t run = int64_t(s.kernel_x) * s.channels * int64_t(size_of(dtype));
  const int64_t image_row = int64_t(s.width) * s.channels * int64_t(size_of(dtype));
  auto launch = [&]<class E>(E) {
    PatchCopy c;
    c.from = from;
    c.to = to;
    c.run = unsigned(run / int64_t(sizeof(E)));
    c.image_row = unsigned(image_row / int64_t(sizeof(E)));
    c.across = unsigned(s.out_width);
    c.kernel_y = unsigned(s.kernel_y);
    c.patch_rows = unsigned(s.out_height);
    c.height = unsigned(s.height);
    c.runs = int64_t(s.batch) * s.out_height * s.kernel_y * s.out_width;
    copy_patches<E, Cut>
        <<<blocks_for(c.runs / c.across, 1, 132 * 32), kBlock, 0, stream>>>(c, Divisor(int(c.run)));
  };
  const int64_t both = run | image_row;
  if (both % 16 == 0)
    launch(uint4());
  else if (both % 8 == 0)
    launch(uint2());
  else if (both % 4 == 0)
    launch(uint32_t());
  else
    launch(uint16_t());
  check_launch("patches of an image");
}

}  // namespace

void run_cut_patches(const ConvShape& shape, DType dtype, const void* image, void* patches,
                     cudaStream_t stream) {
  copy<true>(shape, dtype, image, patches, stream);
}

void run_join_patches(const ConvShape& s, DType dtype, const void* patches, void* image,
                      cudaStream_t stream) {
  if (s.height != s.out_height * s.kernel_y || s.width != s.out_width * s.kernel_x)
    check(cudaMemsetAsync(image, 0,
                          size_t(s.batch) * size_t(s.height) * size_t(s.width) *
                              size_t(s.channels) * size_of(dtype),
                          stream),
          "zeroing a frame");
  copy<false>(s, dtype, patches, image, stream);
}

}  // namespace stoker::cuda
