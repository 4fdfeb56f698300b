// Decoded whole, in part and scaled.
#include "fuzz/fuzz_image.h"

using namespace stoker;
using test::kMostPixels;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const image::Op ops[] = {
      image::decode_jpeg({.max_pixels = kMostPixels}),
      image::decode_jpeg({.channels = 0, .max_pixels = kMostPixels}) |
          image::random_resized_crop(16) | image::random_flip_left_right(),
      image::decode_jpeg({.channels = 1, .scaled = true, .max_pixels = kMostPixels}) |
          image::resize(5, 7, {.antialias = true}),
  };
  test::attempt(ops, data, size);
  return 0;
}
