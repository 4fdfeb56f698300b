#include "data/image/step.h"

#include <fmt/format.h>

namespace stoker::image {

// A step that is asked for what its plan did not promise: our own mistake.
Pixels Step::decode(const Box&, int, Workspace&) const { throw Error(name() + " decodes nothing"); }
void Step::decode_to(uint8_t*, Workspace&) const { throw Error(name() + " decodes nothing"); }
void Step::run(const ConstTensorView&, const TensorView&) const {
  throw Error(name() + " does not run on its own");
}

void refuse(const Step& step, const TensorSpec& in, std::string_view what) {
  throw ShapeError(fmt::format("{}: got {}; {}", step.name(), to_string(in), what));
}

void check_pixel_dtype(const Step& step, const TensorSpec& in) {
  if (in.dtype == DType::bytes)
    refuse(step, in, "expected pixels in uint8 or float32: put image::decode_image() before it");
  if (in.dtype != DType::uint8 && in.dtype != DType::float32)
    refuse(step, in, "expected uint8 or float32: put image::convert(DType::float32) before it");
}

void check_picture(const Step& step, const TensorSpec& in) {
  check_pixel_dtype(step, in);
  if (in.shape.rank() == 4)
    refuse(step, in, "expected one picture [height, width, channels]: map it before batch");
  if (in.shape.rank() != 3) refuse(step, in, "expected a picture [height, width, channels]");
}

void check_bytes(const Step& step, const TensorSpec& in) {
  if (in.dtype != DType::bytes || in.shape.rank() != 0)
    refuse(step, in, "expected the bytes of one file, bytes[]");
}

}  // namespace stoker::image
