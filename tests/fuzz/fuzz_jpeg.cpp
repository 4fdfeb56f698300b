// Any bytes as a JPEG: decoded whole, in part and scaled; an Error or a picture.
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
      image::decode_jpeg({.max_pixels = kMostPixels}),
      image::decode_jpeg({.channels = 0, .max_pixels = kMostPixels}) |
          image::random_resized_crop(16) | image::random_flip_left_right(),
      image::decode_jpeg({.channels = 1, .scaled = true, .max_pixels = kMostPixels}) |
          image::resize(5, 7, {.antialias = true}),
  };
  Tensor in(DType::bytes, {});
  in.data_mut<std::string>()->assign(reinterpret_cast<const char*>(data), size);
  for (const image::Op& op : ops) attempt(op, in);
  return 0;
}
