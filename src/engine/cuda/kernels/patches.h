// Images cut into patches that do not overlap: [B, H, W, C] ↔ [B · H' · W', kh · kw · C], so that a
// convolution whose kernel is its stride is a product.
#pragma once

#include "engine/cuda/kernels/direct_conv.h"

namespace stoker::cuda {

// Rows and columns of the image that no patch reaches are left out.
void run_cut_patches(const ConvShape& shape, DType dtype, const void* image, void* patches,
                     cudaStream_t stream);
// Those are zeroed here.
void run_join_patches(const ConvShape& shape, DType dtype, const void* patches, void* image,
                      cudaStream_t stream);

}  // namespace stoker::cuda
