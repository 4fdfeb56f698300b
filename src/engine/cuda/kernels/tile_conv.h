// Convolutions in 16 bits that libraries have no good kernel for: several channels per group, and
// channel counts that are no multiple of eight. Tiles of the image lie in shared memory, and tensor
// cores multiply every tap of the kernel with them; nothing is padded or copied in device memory.
#pragma once

#include "engine/cuda/kernels/direct_conv.h"

namespace stoker::cuda {

// 1×1 over all pixels: rows of a matrix are multiplied, group by group.
inline bool is_pixel_product(const ConvShape& s) {
  return s.kernel_y * s.kernel_x == 1 && s.stride_y == 1 && s.stride_x == 1 &&
         s.top + s.bottom + s.left + s.right == 0;
}

// Whether these kernels apply, to the forward and the weight gradient; to the input gradient.
bool is_tile_conv(const ConvShape& shape, DType dtype);
bool is_tile_conv_input_grad(const ConvShape& shape, DType dtype);

// Operands as in direct_conv.h. Sums in float32; results do not depend on timing.
void run_tile_conv(const DirectConv& call, cudaStream_t stream);
void run_tile_conv_input_grad(const DirectConv& call, cudaStream_t stream);
// Partial sums [splits][weights] of the weight gradient in call.partials.
int tile_conv_splits(const ConvShape& shape);
void run_tile_conv_partials(const DirectConv& call, cudaStream_t stream);

}  // namespace stoker::cuda
