// Pictures for tests, made up from a seed, and encoders for every form that files come in.
#pragma once

#include <string>

#include <stoker/tensor.h>

namespace stoker::test {

// Gradients, edges and some noise. uint8, or float32 in 0 … 1.
Tensor make_picture(int64_t height, int64_t width, int64_t channels, uint64_t seed = 1);
Tensor make_float_picture(int64_t height, int64_t width, int64_t channels, uint64_t seed = 1);

Tensor bytes_tensor(std::string bytes);
const std::string& bytes_in(const Tensor& tensor);

struct JpegForm {
  int quality = 90;
  int h = 1, v = 1;  // sampling of the first component; the others have 1×1
  bool progressive = false;
  bool ycck = false;  // four channels: YCCK with Adobe's marker instead of CMYK
  bool rgb = false;   // three channels: stored as RGB
  int restart = 0;    // MCUs between markers
  bool exif = false;
};
// uint8[height, width, 1, 3 or 4]
std::string make_jpeg(const Tensor& picture, const JpegForm& form = {});

struct PngForm {
  int depth = 8;  // 16: the values twice; 1, 2, 4: grey or palette of small values
  bool palette = false, interlaced = false, transparent = false;
};
// uint8[height, width, 1 … 4] (grey, grey + alpha, RGB, RGBA)
std::string make_png(const Tensor& picture, const PngForm& form = {});

// Of uint8 or float32 tensors of one spec; a spec that differs fails the test and gives infinity.
double largest_difference(const Tensor& a, const Tensor& b);
double mean_difference(const Tensor& a, const Tensor& b);

}  // namespace stoker::test
