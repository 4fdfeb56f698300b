// Residual networks, as torchvision has them.
#include <algorithm>
#include <initializer_list>

#include "jobs/applications/common.h"

namespace stoker::applications {

namespace {

// Padded by half the kernel on every side, also with strides: "same" would pad one side only.
Value convolution(const Value& x, int64_t filters, int64_t kernel, int64_t stride = 1) {
  bool shifts = stride > 1 && kernel > 1;
  Value in = shifts ? ZeroPadding2D(kernel / 2)(x) : x;
  Value y = Conv2D(filters, kernel,
                   {.strides = stride,
                    .padding = shifts ? "valid" : "same",
                    .use_bias = false,
                    .kernel_initializer = "he_normal"})(in);
  return BatchNormalization({.momentum = 0.9, .epsilon = 1e-5})(y);
}

Value relu(const Value& x) { return Activation("relu")(x); }

Value shortcut_of(const Value& x, int64_t filters, int64_t stride) {
  bool projects = stride != 1 || x.shape()[-1] != filters;
  return projects ? convolution(x, filters, 1, stride) : x;
}

Value basic_block(const Value& x, int64_t width, int64_t stride) {
  Value y = convolution(relu(convolution(x, width, 3, stride)), width, 3);
  return relu(Add()({y, shortcut_of(x, width, stride)}));
}

Value bottleneck(const Value& x, int64_t width, int64_t stride) {
  Value y = relu(convolution(x, width, 1));
  y = convolution(relu(convolution(y, width, 3, stride)), 4 * width, 1);
  return relu(Add()({y, shortcut_of(x, 4 * width, stride)}));
}

Value stem(const Value& x, const Shape& picture) {
  if (std::min(picture[0], picture[1]) < 64) return relu(convolution(x, 64, 3));
  Value y = relu(convolution(x, 64, 7, 2));
  return MaxPooling2D(3, {.strides = 2})(ZeroPadding2D(1)(y));  // nothing is below 0 after ReLU
}

using Block = Value (*)(const Value& x, int64_t width, int64_t stride);

Model resnet(Block block, std::initializer_list<int64_t> stages, const Options& options,
             const char* name) {
  expect_picture(options, 16, name);
  Beginning beginning = begin(options);
  Value x = stem(beginning.x, options.input_shape);
  int64_t width = 64;
  for (int64_t blocks : stages) {
    for (int64_t i = 0; i < blocks; ++i) x = block(x, width, i == 0 && width > 64 ? 2 : 1);
    width *= 2;
  }
  return end(beginning, GlobalAveragePooling2D()(x), options, name);
}

}  // namespace

Model resnet18(const Options& options) {
  return resnet(basic_block, {2, 2, 2, 2}, options, "resnet18");
}
Model resnet50(const Options& options) {
  return resnet(bottleneck, {3, 4, 6, 3}, options, "resnet50");
}

}  // namespace stoker::applications
