// NASNet-A: cells that a search found, each of the two cells before it.
#include <fmt/format.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace nasnet {

struct Variant {
  const char* function;
  const char* name;
  int64_t size, filters, blocks, stem_filters;
  bool skips;  // cells after a reduction see what came before it
};

// What a cell takes and gives: its input and that of the cell before it (undefined: none).
struct Cells {
  Value x, before;
};

Value relu(const Value& x, const std::string& name = "") {
  return Activation("relu", {.name = name})(x);
}
Value norm(const Value& x, const std::string& name) {
  return BatchNormalization({.momentum = 0.9997, .name = name})(x);
}
Value pointwise(const Value& x, int64_t filters, const std::string& name) {
  return Conv2D(
      filters, 1,
      {.padding = "same", .use_bias = false, .kernel_initializer = "he_normal", .name = name})(x);
}

Value separable(const Value& x, int64_t filters, int64_t kernel, int64_t stride,
                const std::string& id) {
  Value y = relu(x);
  if (stride == 2)
    y = ZeroPadding2D(correct_pad(y, kernel), {.name = "separable_conv_1_pad_" + id})(y);
  y = SeparableConv2D(filters, kernel,
                      {.strides = stride,
                       .padding = stride == 2 ? "valid" : "same",
                       .use_bias = false,
                       .name = "separable_conv_1_" + id})(y);
  y = relu(norm(y, "separable_conv_1_bn_" + id));
  y = SeparableConv2D(filters, kernel,
                      {.padding = "same", .use_bias = false, .name = "separable_conv_2_" + id})(y);
  return norm(y, "separable_conv_2_bn_" + id);
}

Value mean3(const Value& x, int64_t stride, const std::string& name) {
  return AveragePooling2D(
      3, {.strides = stride, .padding = stride == 1 ? "same" : "valid", .name = name})(x);
}
Value max3(const Value& x, const std::string& name) {
  return MaxPooling2D(3, {.strides = 2, .name = name})(x);
}
Value sum(const Value& a, const Value& b, const std::string& name = "") {
  return Add({.name = name})({a, b});
}

// Half the resolution: pixels of even and of odd rows and columns.
Value halved(const Value& x, int64_t filters, const std::string& id) {
  Value y = relu(x, "adjust_relu_1_" + id);
  auto sampled = [&](const Value& from, const std::string& number) {
    Value kept =
        AveragePooling2D(1, {.strides = 2, .name = "adjust_avg_pool_" + number + id})(from);
    return pointwise(kept, filters / 2, "adjust_conv_" + number + id);
  };
  Value even = sampled(y, "1_");
  Value odd = sampled(Cropping2D({{1, 0}, {1, 0}})(ZeroPadding2D({{0, 1}, {0, 1}})(y)), "2_");
  return norm(Concatenate()({even, odd}), "adjust_bn_" + id);
}

// What came before, with the resolution of x and as many filters.
Value adjusted(const Cells& cells, int64_t filters, const std::string& id) {
  const Value& before = cells.before;
  if (!before.defined()) return cells.x;
  if (before.shape()[2] != cells.x.shape()[2]) return halved(before, filters, id);
  if (before.shape()[3] == filters) return before;
  return norm(pointwise(relu(before), filters, "adjust_conv_projection_" + id), "adjust_bn_" + id);
}

Cells normal(const Cells& cells, int64_t filters, const std::string& id) {
  Value p = adjusted(cells, filters, id);
  Value h = norm(pointwise(relu(cells.x), filters, "normal_conv_1_" + id), "normal_bn_1_" + id);
  auto add = [&](const Value& a, const Value& b, int number) {
    return sum(a, b, fmt::format("normal_add_{}_{}", number, id));
  };
  Value x1 = add(separable(h, filters, 5, 1, "normal_left1_" + id),
                 separable(p, filters, 3, 1, "normal_right1_" + id), 1);
  Value x2 = add(separable(p, filters, 5, 1, "normal_left2_" + id),
                 separable(p, filters, 3, 1, "normal_right2_" + id), 2);
  Value x3 = add(mean3(h, 1, "normal_left3_" + id), p, 3);
  Value x4 = add(mean3(p, 1, "normal_left4_" + id), mean3(p, 1, "normal_right4_" + id), 4);
  Value x5 = add(separable(h, filters, 3, 1, "normal_left5_" + id), h, 5);
  Value x = Concatenate(-1, {.name = "normal_concat_" + id})({p, x1, x2, x3, x4, x5});
  return {x, cells.x};
}

Cells reduction(const Cells& cells, int64_t filters, const std::string& id) {
  Value p = adjusted(cells, filters, id);
  Value h =
      norm(pointwise(relu(cells.x), filters, "reduction_conv_1_" + id), "reduction_bn_1_" + id);
  Value h3 = ZeroPadding2D(correct_pad(h, 3), {.name = "reduction_pad_1_" + id})(h);
  Value x1 = sum(separable(h, filters, 5, 2, "reduction_left1_" + id),
                 separable(p, filters, 7, 2, "reduction_right1_" + id), "reduction_add_1_" + id);
  Value x2 = sum(max3(h3, "reduction_left2_" + id),
                 separable(p, filters, 7, 2, "reduction_right2_" + id), "reduction_add_2_" + id);
  Value x3 = sum(mean3(h3, 2, "reduction_left3_" + id),
                 separable(p, filters, 5, 2, "reduction_right3_" + id), "reduction_add3_" + id);
  Value x4 = sum(x2, mean3(x1, 1, "reduction_left4_" + id));
  Value x5 = sum(separable(x1, filters, 3, 1, "reduction_left4_" + id),
                 max3(h3, "reduction_right5_" + id), "reduction_add4_" + id);
  Value x = Concatenate(-1, {.name = "reduction_concat_" + id})({x2, x3, x4, x5});
  return {x, cells.x};
}

Model make(const Variant& variant, ApplicationOptions options) {
  // Cells compare resolutions, which therefore must be known.
  if (options.input_shape.rank() == 0) options.input_shape = {variant.size, variant.size, 3};
  if (options.input_shape.rank() == 3 && (options.input_shape[0] < 0 || options.input_shape[1] < 0))
    throw ShapeError(fmt::format("applications::{}: expected a known height and width, got {}",
                                 variant.function, to_string(options.input_shape)));
  Network network = start(variant.function, variant.name, options, {.standard = variant.size});
  int64_t filters = variant.filters / 24, blocks = variant.blocks;
  Value x = Conv2D(
      variant.stem_filters, 3,
      {.strides = 2, .use_bias = false, .kernel_initializer = "he_normal", .name = "stem_conv1"})(
      network.input);
  Cells cells = {norm(x, "stem_bn1"), {}};
  cells = reduction(cells, filters / 4, "stem_1");
  cells = reduction(cells, filters / 2, "stem_2");
  for (int64_t stage = 0; stage < 3; ++stage, filters *= 2) {
    if (stage > 0) {
      Cells smaller = reduction(cells, filters, fmt::format("reduce_{}", stage * blocks));
      cells = {smaller.x, variant.skips ? cells.before : smaller.before};
    }
    for (int64_t i = 0; i < blocks; ++i)
      cells = normal(cells, filters, std::to_string(stage * blocks + i + (stage > 0 ? 1 : 0)));
  }
  return finish(network, relu(cells.x));
}

}  // namespace nasnet
}  // namespace

Model NASNetMobile(const ApplicationOptions& options) {
  return nasnet::make({"NASNetMobile", "nasnet_mobile", 224, 1056, 4, 32, false}, options);
}
Model NASNetLarge(const ApplicationOptions& options) {
  return nasnet::make({"NASNetLarge", "nasnet_large", 331, 4032, 6, 96, true}, options);
}

}  // namespace stoker::applications
