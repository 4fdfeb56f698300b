// MobileNet, as Keras has it: a depthwise 3×3 convolution, then one of 1×1, thirteen times.
#include <utility>

#include "jobs/applications/common.h"

namespace stoker::applications {

namespace {

Value normalised(const Value& x) { return ReLU({.max_value = 6})(BatchNormalization()(x)); }

Value separable(const Value& x, int64_t filters, int64_t stride) {
  Value y =
      normalised(DepthwiseConv2D(3, {.strides = stride, .padding = "same", .use_bias = false})(x));
  return normalised(Conv2D(filters, 1, {.padding = "same", .use_bias = false})(y));
}

}  // namespace

Model mobilenet(const Options& options) {
  expect_picture(options, 32, "mobilenet");
  Beginning beginning = begin(options);
  Value x =
      normalised(Conv2D(32, 3, {.strides = 2, .padding = "same", .use_bias = false})(beginning.x));
  constexpr std::pair<int64_t, int64_t> kBlocks[] = {
      // filters, stride
      {64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
      {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
  for (auto [filters, stride] : kBlocks) x = separable(x, filters, stride);
  return end(beginning, Dropout(1e-3)(GlobalAveragePooling2D()(x)), options, "mobilenet");
}

}  // namespace stoker::applications
