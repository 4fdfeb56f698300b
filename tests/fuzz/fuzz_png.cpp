// Decoded whole and in part.
#include "fuzz/fuzz_image.h"

using namespace stoker;
using test::kMostPixels;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const image::Op ops[] = {
      image::decode_png({.channels = 0, .max_pixels = kMostPixels}),
      image::decode_png({.channels = 4, .max_pixels = kMostPixels}) |
          image::random_resized_crop(16),
      image::decode_png({.channels = 1, .max_pixels = kMostPixels}) | image::crop(1, 2, 3, 4),
  };
  test::attempt(ops, data, size);
  return 0;
}
