// conv2d, its way back and its two gradients, over one list of geometries.
#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

struct Geometry {
  std::string name;
  Shape x;  // [B, H, W, C]
  int64_t kernel_height, kernel_width, filters;
  Ints strides = {1, 1};
  Ints pads = {0, 0, 0, 0};  // top, bottom, left, right
  Ints dilation = {1, 1};
  int64_t groups = 1;

  Shape w() const { return {kernel_height, kernel_width, x[3] / groups, filters}; }
  Shape y() const {
    auto extent = [&](int axis, int64_t kernel) {
      int64_t padded = x[axis + 1] + pads[size_t(2 * axis)] + pads[size_t(2 * axis + 1)];
      return (padded - dilation[size_t(axis)] * (kernel - 1) - 1) / strides[size_t(axis)] + 1;
    };
    return {x[0], extent(0, kernel_height), extent(1, kernel_width), filters};
  }
  Attrs attrs() const {
    return {{"strides", strides}, {"pads", pads}, {"dilation", dilation}, {"groups", groups}};
  }
};

const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> all = {
      {"one_channel", {2, 7, 7, 1}, 3, 3, 4},
      {"three_channels_30_filters", {1, 7, 7, 3}, 3, 3, 30},
      {"one_by_one", {2, 5, 5, 5}, 1, 1, 7},
      {"one_pixel", {3, 1, 1, 4}, 1, 1, 2},
      {"one_row", {2, 1, 9, 2}, 1, 3, 3},
      {"five_by_five", {1, 8, 8, 2}, 5, 5, 3},
      {"not_square", {1, 5, 9, 3}, 2, 4, 5},
      {"kernel_as_large_as_image", {3, 4, 4, 2}, 4, 4, 5},
      {"stride_2", {2, 7, 7, 3}, 3, 3, 4, {2, 2}},
      {"stride_2_leaves_a_rest", {1, 8, 8, 2}, 3, 3, 3, {2, 2}},
      {"stride_3_by_1", {1, 9, 6, 2}, 2, 3, 3, {3, 1}},
      {"one_by_one_stride_2", {2, 6, 6, 3}, 1, 1, 4, {2, 2}},
      {"same_padding", {2, 6, 6, 3}, 3, 3, 4, {1, 1}, {1, 1, 1, 1}},
      {"same_stride_2_asymmetric", {1, 8, 8, 3}, 3, 3, 5, {2, 2}, {0, 1, 0, 1}},
      {"four_pads", {1, 5, 5, 2}, 3, 3, 3, {1, 1}, {2, 0, 1, 2}},
      {"dilation", {1, 9, 9, 2}, 3, 3, 3, {1, 1}, {0, 0, 0, 0}, {2, 2}},
      {"dilation_with_padding", {1, 7, 7, 2}, 3, 2, 3, {1, 1}, {2, 2, 1, 2}, {2, 3}},
      {"two_groups", {2, 5, 5, 4}, 3, 3, 6, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
      {"three_groups_stride_2", {1, 7, 7, 9}, 3, 3, 6, {2, 2}, {1, 1, 1, 1}, {1, 1}, 3},
      {"depthwise", {2, 6, 6, 5}, 3, 3, 5, {1, 1}, {1, 1, 1, 1}, {1, 1}, 5},
      {"depthwise_times_2", {1, 6, 6, 3}, 3, 3, 6, {1, 1}, {0, 0, 0, 0}, {1, 1}, 3},
      {"depthwise_stride_2", {1, 7, 7, 8}, 3, 3, 8, {2, 2}, {0, 1, 1, 0}, {1, 1}, 8},
      {"sixteen_channels", {1, 6, 6, 16}, 3, 3, 16},
      {"thirty_channels", {1, 5, 5, 30}, 3, 3, 10},
      {"large", {4, 28, 28, 8}, 3, 3, 20, {1, 1}, {1, 1, 1, 1}},
      {"depthwise_even", {2, 6, 9, 10}, 3, 3, 10, {1, 1}, {1, 1, 1, 1}, {1, 1}, 10},
      {"depthwise_four_pads", {1, 6, 7, 12}, 3, 4, 12, {1, 1}, {2, 0, 1, 2}, {1, 1}, 12},
      {"depthwise_five", {2, 9, 11, 10}, 5, 5, 10, {1, 1}, {2, 2, 2, 2}, {1, 1}, 10},
      {"depthwise_five_stride_2", {1, 10, 9, 4}, 5, 5, 4, {2, 2}, {1, 2, 2, 2}, {1, 1}, 4},
      {"depthwise_seven", {1, 8, 9, 6}, 7, 7, 6, {1, 1}, {3, 3, 3, 3}, {1, 1}, 6},
      {"depthwise_seven_stride_2", {1, 9, 10, 4}, 7, 7, 4, {2, 2}, {2, 3, 3, 2}, {1, 1}, 4},
      {"depthwise_dilated", {1, 9, 9, 4}, 3, 3, 4, {1, 1}, {2, 2, 2, 2}, {2, 2}, 4},
      {"depthwise_vectors", {3, 6, 9, 20}, 3, 3, 20, {1, 1}, {1, 1, 1, 1}, {1, 1}, 20},
      {"depthwise_vectors_stride_2", {5, 9, 8, 33}, 5, 5, 33, {2, 2}, {1, 2, 2, 2}, {1, 1}, 33},
      {"depthwise_vectors_wide", {1, 3, 14, 16}, 3, 9, 16, {1, 1}, {1, 1, 4, 4}, {1, 1}, 16},
      {"depthwise_vectors_dilated", {2, 9, 7, 18}, 3, 3, 18, {1, 1}, {2, 2, 2, 2}, {2, 2}, 18},
      {"depthwise_vectors_narrow", {1, 5, 2, 16}, 7, 7, 16, {1, 1}, {3, 3, 3, 3}, {1, 1}, 16},
      {"depthwise_row", {2, 1, 20, 6}, 1, 5, 6, {1, 1}, {0, 0, 2, 2}, {1, 1}, 6},
      {"patches", {2, 9, 8, 3}, 4, 4, 8, {4, 4}},
      {"patches_not_square", {1, 8, 9, 5}, 4, 3, 7, {4, 3}},
  };
  return all;
}

// So many pixels that products with few filters have kernels of their own.
const std::vector<Geometry>& many_pixels() {
  static const std::vector<Geometry> all = {{"pixels_to_3", {4, 64, 64, 16}, 1, 1, 3},
                                            {"pixels_to_8", {2, 90, 100, 24}, 1, 1, 8}};
  return all;
}

// Groups of several channels, and 1×1 kernels over channels that no vector divides. Tiles of a GPU's
// kernels end within the images.
const std::vector<Geometry>& tiled() {
  static const std::vector<Geometry> all = {
      {"groups_of_4", {3, 9, 11, 16}, 3, 3, 16, {1, 1}, {1, 1, 1, 1}, {1, 1}, 4},
      {"groups_of_6_stride_2", {2, 11, 9, 24}, 3, 3, 40, {2, 2}, {0, 1, 0, 1}, {1, 1}, 4},
      {"groups_of_12_one_by_one", {3, 9, 13, 36}, 1, 1, 60, {1, 1}, {0, 0, 0, 0}, {1, 1}, 3},
      {"groups_of_2_to_6", {2, 12, 12, 20}, 1, 1, 60, {1, 1}, {0, 0, 0, 0}, {1, 1}, 10},
      {"groups_dilated", {2, 11, 13, 12}, 3, 3, 12, {1, 1}, {2, 2, 2, 2}, {2, 2}, 3},
      {"groups_of_24_five_by_five", {1, 10, 20, 48}, 5, 5, 48, {1, 1}, {2, 2, 2, 2}, {1, 1}, 2},
      {"one_by_one_58_channels", {5, 29, 31, 58}, 1, 1, 42},
      {"one_by_one_116_channels", {3, 37, 41, 116}, 1, 1, 68},
      {"one_by_one_30_channels_stride_2", {2, 15, 17, 30}, 1, 1, 22, {2, 2}},
      {"one_by_one_few_pixels", {9, 1, 1, 10}, 1, 1, 24},
  };
  return all;
}

// First layers for photographs: three channels, stride 2. Tiles of a GPU's kernels end within some.
const std::vector<Geometry>& photo_stems() {
  static const std::vector<Geometry> all = {
      {"stem_7", {3, 38, 70, 3}, 7, 7, 64, {2, 2}, {3, 3, 3, 3}},
      {"stem_7_odd_same", {1, 21, 35, 3}, 7, 7, 64, {2, 2}, {3, 3, 3, 3}},
      {"stem_7_even_same", {1, 22, 36, 3}, 7, 7, 8, {2, 2}, {2, 3, 2, 3}},
      {"stem_7_valid_leaves_a_rest", {2, 24, 40, 3}, 7, 7, 72, {2, 2}},
      {"stem_7_as_large_as_image", {3, 7, 7, 3}, 7, 7, 16, {2, 2}},
      {"stem_7_30_filters", {1, 17, 20, 3}, 7, 7, 30, {2, 2}, {3, 3, 3, 3}},
      {"stem_5_even_same", {3, 20, 34, 3}, 5, 5, 64, {2, 2}, {1, 2, 1, 2}},
      {"stem_5_odd_same", {1, 19, 33, 3}, 5, 5, 24, {2, 2}, {2, 2, 2, 2}},
      {"stem_4_same", {2, 18, 34, 3}, 4, 4, 40, {2, 2}, {1, 1, 1, 1}},
      {"stem_3_even_same", {3, 36, 66, 3}, 3, 3, 32, {2, 2}, {0, 1, 0, 1}},
      {"stem_3_odd_same", {1, 33, 17, 3}, 3, 3, 64, {2, 2}, {1, 1, 1, 1}},
      {"stem_3_wide_pads", {1, 5, 6, 3}, 3, 3, 8, {2, 2}, {0, 4, 5, 0}},
      {"stem_6", {1, 22, 36, 3}, 6, 6, 16, {2, 2}, {2, 2, 2, 2}},
      {"stem_2", {1, 10, 37, 3}, 2, 2, 48, {2, 2}},
      {"stem_7_by_5", {1, 15, 16, 3}, 7, 5, 8, {2, 2}, {3, 3, 2, 2}},
  };
  return all;
}

Attrs forward_attrs(const Geometry& at, std::string activation = "", double alpha = 0) {
  Attrs attrs = at.attrs();
  attrs.set("activation", std::move(activation));
  attrs.set("alpha", alpha);
  return attrs;
}

double forward_products(const Geometry& at) {
  return double(at.kernel_height * at.kernel_width * at.x[3] / at.groups);
}

OpCase forward(const Geometry& at) {
  return {at.name, forward_attrs(at), {{at.x}, {at.w()}}, sums(forward_products(at), {0, 1})};
}

OpCase fused(const Geometry& at, bool bias, const std::string& activation, double alpha = 0) {
  OpCase one = forward(at);
  one.name = fmt::format("{}{}_{}", at.name, bias ? "_bias" : "",
                         activation.empty() ? "linear" : activation);
  one.attrs = forward_attrs(at, activation, alpha);
  if (bias) {
    one.inputs.push_back({{at.filters}});
    one.bound = sums(forward_products(at) + 1, {0, 1, 2});
  }
  one.gradient = false;
  return one;
}

OpCase input_gradient(const Geometry& at) {
  Attrs attrs = at.attrs();
  attrs.set("input_shape", Ints(at.x.begin(), at.x.end()));
  double products = double(at.kernel_height * at.kernel_width * at.filters / at.groups);
  return {at.name, attrs, {{at.y()}, {at.w()}}, sums(products, {0, 1})};
}

OpCase transposed(const Geometry& at) {
  OpCase one = input_gradient(at);
  Shape y = at.y();
  Ints kernel = {at.kernel_height, at.kernel_width}, more;
  for (size_t i = 0; i < 2; ++i) {
    int axis = int(i) + 1;
    int64_t reached = (y[axis] - 1) * at.strides[i] + at.dilation[i] * (kernel[i] - 1) + 1 -
                      at.pads[2 * i] - at.pads[2 * i + 1];
    more.push_back(at.x[axis] - reached);
  }
  one.attrs = at.attrs();
  one.attrs.set("output_padding", more);
  return one;
}

// `fill`: of one sign where a sum has so many terms that it is small beside their absolute values.
OpCase weight_gradient(const Geometry& at, bool bias, const Fill& fill = {}) {
  Attrs attrs = at.attrs();
  attrs.set("kernel", Ints{at.kernel_height, at.kernel_width});
  attrs.set("bias", bias);
  Shape y = at.y();
  return {at.name + (bias ? "_bias" : ""),
          attrs,
          {{at.x, fill}, {y, fill}},
          sums(double(y[0] * y[1] * y[2]), {0, 1}),
          !bias};
}

std::vector<BadCall> bad_forward() {
  Geometry at{"", {2, 7, 7, 3}, 3, 3, 4},
      far{"", {2, 7, 7, 3}, 3, 3, 4, {1, 1}, {0, 0, 0, 0}, {4, 1}},
      zero{"", {2, 7, 7, 3}, 3, 3, 4, {0, 1}};
  auto x = [](Shape shape) { return TensorSpec{DType::float32, shape}; };
  Attrs grouped = forward_attrs(at);
  grouped.set("groups", int64_t(2));
  return {
      {"a flat image", forward_attrs(at), {x({2, 147}), x({3, 3, 3, 4})}},
      {"other channels", forward_attrs(at), {x({2, 7, 7, 3}), x({3, 3, 2, 4})}},
      {"a kernel larger than the image", forward_attrs(at), {x({2, 2, 2, 3}), x({3, 3, 3, 4})}},
      {"a dilated kernel larger than the image",
       forward_attrs(far),
       {x({2, 7, 7, 3}), x({3, 3, 3, 4})}},
      {"a stride of zero", forward_attrs(zero), {x({2, 7, 7, 3}), x({3, 3, 3, 4})}},
      {"groups that do not divide", grouped, {x({2, 7, 7, 3}), x({3, 3, 3, 4})}},
      {"a bias of another length", forward_attrs(at), {x({2, 7, 7, 3}), x({3, 3, 3, 4}), x({5})}}};
}

}  // namespace

void add_convolution_cases(OpCaseTable& table) {
  OpCases &conv = table["conv2d"], &dx = table["conv2d_input_grad"],
          &dw = table["conv2d_weight_grad"], &back = table["conv2d_transpose"];
  for (const Geometry& at : geometries()) {
    conv.good.push_back(forward(at));
    dx.good.push_back(input_gradient(at));
    back.good.push_back(transposed(at));
    for (bool bias : {false, true}) dw.good.push_back(weight_gradient(at, bias));
  }
  for (const Geometry& at : photo_stems()) {
    conv.good.push_back(forward(at));
    conv.good.back().gradient = false;  // by differences: a minute for all of them
    for (bool bias : {false, true}) dw.good.push_back(weight_gradient(at, bias));
  }
  for (std::string activation : {"", "relu", "tanh"})
    conv.good.push_back(fused(photo_stems()[1], true, activation));
  for (const Geometry& at : many_pixels()) {
    for (const char* activation : {"", "relu"}) conv.good.push_back(fused(at, true, activation));
    dx.good.push_back(input_gradient(at));
    dx.good.back().gradient = false;
    dw.good.push_back(weight_gradient(at, true, {0.25, 1}));
  }
  for (const Geometry& at : tiled()) {
    for (const char* activation : {"", "relu", "tanh"}) {
      conv.good.push_back(fused(at, true, activation));
      conv.good.back().gradient = false;
    }
    dx.good.push_back(input_gradient(at));
    dx.good.back().gradient = false;
    dw.good.push_back(weight_gradient(at, true, {0.25, 1}));
    dw.good.back().gradient = false;
  }
  for (const char* activation : {"relu", "relu6", "tanh"})
    conv.good.push_back(fused(geometries()[25], true, activation));
  const Geometry &plain = geometries()[1], &depthwise = geometries()[19],
                 &one_channel = geometries()[0];
  for (const Geometry* at : {&plain, &depthwise, &one_channel}) {
    conv.good.push_back(fused(*at, true, ""));
    conv.good.push_back(fused(*at, true, "relu"));
    conv.good.push_back(fused(*at, false, "relu"));
  }
  for (std::string activation : {"relu6", "sigmoid", "tanh"})
    conv.good.push_back(fused(plain, true, activation));
  conv.good.push_back(fused(plain, true, "leaky_relu", 0.2));
  conv.good.push_back(fused(plain, true, "elu", 1));
  conv.bad = bad_forward();

  TensorSpec x{DType::float32, {2, 7, 7, 3}}, w{DType::float32, {3, 3, 3, 4}},
      y{DType::float32, {2, 5, 5, 4}};
  OpCase good_dx = input_gradient({"", {2, 7, 7, 3}, 3, 3, 4});
  OpCase good_dw = weight_gradient({"", {2, 7, 7, 3}, 3, 3, 4}, false);
  dx.bad = {{"a gradient of another shape", good_dx.attrs, {{DType::float32, {2, 6, 5, 4}}, w}},
            {"no kernel", good_dx.attrs, {y}}};
  OpCase good_back = transposed({"", {2, 7, 7, 3}, 3, 3, 4});
  Attrs much = good_back.attrs, all = good_back.attrs;
  much.set("output_padding", Ints{0, 1});
  all.set("pads", Ints{4, 3, 0, 0});
  back.bad = {{"other channels", good_back.attrs, {{DType::float32, {2, 5, 5, 3}}, w}},
              {"a flat image", good_back.attrs, {{DType::float32, {2, 100}}, w}},
              {"output_padding of a stride", much, {y, w}},
              {"padding that leaves nothing", all, {y, w}}};
  dw.bad = {{"a gradient of another shape", good_dw.attrs, {x, {DType::float32, {2, 5, 6, 4}}}},
            {"no gradient", good_dw.attrs, {x}}};
}

}  // namespace stoker::test
