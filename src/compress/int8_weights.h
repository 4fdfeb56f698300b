// A trained product in eight bits: batch normalisation folded in, one scale per filter.
#pragma once

#include <string>
#include <vector>

#include "compress/calibration.h"
#include "compress/quant_plan.h"

namespace stoker::compress {

// Filters first: [units, inputs] or [filters, kh, kw, C / groups].
struct FloatKernel {
  Shape shape;
  std::vector<double> weights;
  std::vector<double> bias;  // one per filter
  int64_t groups = 1;        // of a convolution
};

// Of a product, with its batch normalisation, or of a batch normalisation by itself. ValueError for
// weights that are not finite.
FloatKernel float_kernel(const Step& step);

struct Int8Kernel {
  Tensor weights;  // int8
  Tensor bias;     // int32, with − zero point · Σ weights
  Doubles scales;
  double error = 0;  // ‖w − stored‖ / ‖w‖
};

Int8Kernel int8_kernel(const FloatKernel& kernel, const CodeParams& input, int64_t bits);

}  // namespace stoker::compress
