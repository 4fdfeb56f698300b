// The pooled stems of stem.h in 16-bit floats, by tensor cores. The 4×4 pixels under a pooled
// pixel are one row of a product: the four kernels that see them are four matrices of 16 taps (nine
// of them not zero), and pooling is a maximum over four results of one thread.
#pragma once

#include "engine/cuda/kernels/shape.h"
#include "engine/cuda/kernels/stem.h"

namespace stoker::cuda {

// Sixteen bits, and is_pooled_stem(). `places` holds one bit for the pixel that won, or none where
// relu stopped it; x, w and bias may be float32 (wide_x, …) and are rounded as they are read.
bool is_tensor_stem(const ConvShape& shape, DType dtype);
// `layouts`: float32 kernels that the same launch brings into cuDNN's order, in the stem's dtype.
void run_tensor_stem(const DirectConv& call, FewLayouts layouts, cudaStream_t stream);

size_t tensor_stem_partial_bytes(const ConvShape& shape);
size_t tensor_stem_counter_bytes(const ConvShape& shape);
// The last block to arrive adds the partials in their order; counters are zero before and after.
void run_tensor_stem_weight_grad(const DirectConv& call, const FewUpdates& updates,
                                 cudaStream_t stream);

}  // namespace stoker::cuda
