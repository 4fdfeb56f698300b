// Convolutions with stride 2 over three channels, in 16-bit floats, by tensor cores: the first layer
// of a network for photographs. A library would fill the channels up to eight and multiply zeros.
#pragma once

#include "engine/cuda/kernels/direct_conv.h"

namespace stoker::cuda {

// Kernels of 2×2 to 7×7, filters in multiples of eight, any padding.
bool is_rgb_stem(const ConvShape& shape, DType dtype);
void run_rgb_stem(const DirectConv& call, cudaStream_t stream);

// The weight gradient as so many rows of partial sums, which the caller adds.
int rgb_stem_splits(const ConvShape& shape);
void run_rgb_stem_partials(const DirectConv& call, cudaStream_t stream);

}  // namespace stoker::cuda
