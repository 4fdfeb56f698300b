// The weights with which resizing along one axis takes its elements together. Pixel centres are at
// half-integers, as in TensorFlow 2, Keras 3 and PyTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

struct Resample {
  std::string interpolation = "bilinear";  // nearest, bilinear, bicubic, lanczos3, lanczos5
  bool antialias = false;                  // widens the filter by as much as the axis shrinks
};

// [in, out] in rows: element j of the result is Σ_i x[i] · w[i, j]. Every column sums to 1. bicubic is
// Keys's cubic with a = -0.5; without antialias its positions are rounded to 1/1024 of a pixel, as
// TensorFlow's are. ValueError for an unknown interpolation.
std::vector<float> resample_matrix(int64_t in, int64_t out, const Resample& how);

}  // namespace stoker
