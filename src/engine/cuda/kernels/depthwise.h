// Depthwise convolutions: filter i reads channel i alone. Kernels of up to 7×7 in strides of 1 and
// 2, any padding, dilated where the stride is 1; an even number of channels. They move bytes or
// multiply outside the tensor cores; a library's plans for them reach a hundredth of that.
#pragma once

#include "engine/cuda/kernels/direct_conv.h"

namespace stoker::cuda {

bool is_depthwise(const ConvShape& shape);

// Operands as in direct_conv.h. Sums in float32; results do not depend on timing.
void run_depthwise(const DirectConv& call, cudaStream_t stream);
void run_depthwise_input_grad(const DirectConv& call, cudaStream_t stream);
// `partials` has that many bytes; with has_bias the sum of dy is made on the way.
size_t depthwise_partial_bytes(const ConvShape& shape);
void run_depthwise_weight_grad(const DirectConv& call, cudaStream_t stream);

}  // namespace stoker::cuda
