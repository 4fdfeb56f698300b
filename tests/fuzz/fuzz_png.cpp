// Any bytes as a PNG: decoded whole and in part; an Error or a picture.
#include <cstddef>
#include <cstdint>
#include <string>

#include <stoker/image.h>

namespace {

using namespace stoker;

constexpr int64_t kMostPixels = 1 << 20;  // keeps one input fast

void attempt(const image::Op& op, const Tensor& in) {
  Rng rng(1);
  try {
    op(in, rng);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const image::Op ops[] = {
      image::decode_png({.channels = 0, .max_pixels = kMostPixels}),
      image::decode_png({.channels = 4, .max_pixels = kMostPixels}) |
          image::random_resized_crop(16),
      image::decode_png({.channels = 1, .max_pixels = kMostPixels}) | image::crop(1, 2, 3, 4),
  };
  Tensor in(DType::bytes, {});
  in.data_mut<std::string>()->assign(reinterpret_cast<const char*>(data), size);
  for (const image::Op& op : ops) attempt(op, in);
  return 0;
}
