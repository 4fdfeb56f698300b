#include "jobs/applications/common.h"

#include <algorithm>

#include <fmt/format.h>

namespace stoker::applications {

Beginning begin(const Options& options) {
  Value input = Input(options.input_shape, {.dtype = options.dtype});
  return {input, options.dtype == DType::float32 ? input : Rescaling(1.0 / 255)(input)};
}

Model end(const Beginning& beginning, const Value& features, const Options& options,
          const char* name) {
  if (options.classes < 2)
    throw ValueError(fmt::format("{}: expected at least 2 classes, got {}", name, options.classes));
  Value y = Dense(options.classes, {.activation = "softmax", .name = "predictions"})(features);
  return Model(beginning.input, y, {.name = options.name.empty() ? name : options.name});
}

void expect_picture(const Options& options, int64_t pixels, const char* name) {
  const Shape& shape = options.input_shape;
  if (shape.rank() == 3 && std::min(shape[0], shape[1]) >= pixels && shape[2] >= 1) return;
  throw ShapeError(
      fmt::format("{}: expected input_shape [height, width, channels] of at least {}×{}, got {}",
                  name, pixels, pixels, to_string(shape)));
}

}  // namespace stoker::applications
