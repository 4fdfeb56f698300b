// Pictures read at places that are computed.
#pragma once

#include <stoker/ops_image.h>

namespace stoker::ops::image {

// x: [B, H, W, C]. Pixel number i of a sample of the result is what stands at (rows[i], columns[i])
// there; both [B, H · W], or [1, H · W] for all samples.
Value sampled(const Value& x, const Value& rows, const Value& columns, const Sampling& how);

// Every pixel from as many rows below and columns to the right of it as `by` has there; [B, H · W].
Value displaced(const Value& x, const Value& by, const Sampling& how);

// ValueError in the name of `what` for options that are none.
void expect_sampling(const char* what, const Sampling& how);

}  // namespace stoker::ops::image
