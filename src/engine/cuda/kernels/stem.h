// Convolutions over one channel: the first layer of a network for grey images.
#pragma once

#include "engine/cuda/kernels/direct_conv.h"
#include "engine/cuda/kernels/update.h"

namespace stoker::cuda {

// One channel, 3×3, filters in multiples of eight: a thread keeps the taps of eight filters in
// registers.
bool is_stem(const ConvShape& shape, DType dtype);
// The same with stride 1 and no padding, whose rows and columns pooling halves.
bool is_pooled_stem(const ConvShape& shape, DType dtype);

void run_stem(const DirectConv& call, cudaStream_t stream);
size_t stem_partial_bytes(const ConvShape& shape);
// → the gradients, or what `updates` has: the weights, and the bias if there is one.
void run_stem_weight_grad(const DirectConv& call, const FewUpdates& updates, cudaStream_t stream);

}  // namespace stoker::cuda
