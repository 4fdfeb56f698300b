// quantize, dequantize and the ops on numbers in eight bits. Results of eight bits must be equal.
#include <cmath>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

const Fill kCodes{.low = 0, .high = 256}, kWeights{.low = -127, .high = 128},
    kHalfWeights{.low = -63, .high = 64}, kScales{.low = 0.002, .high = 0.02},
    kBias{.low = -20000, .high = 20000};

InputCase codes(const Shape& shape) { return {.shape = shape, .fill = kCodes}; }

// Where a result goes; about three standard deviations of the sums fill the range.
struct To {
  bool floats = false;
  int64_t zero_point = 128, low = 0, high = 255;
  int64_t bits = 8;
};

Attrs product_attrs(double products, const To& to) {
  constexpr double kInput = 0.0173, kWeight = 0.01, kSum = 147 * 73;
  double y_scale = kInput * kWeight * kSum * std::sqrt(products) / 50;
  return {{"x_scale", kInput},      {"x_zero_point", int64_t(3)},
          {"weight_bits", to.bits}, {"dtype", std::string(to.floats ? "float32" : "uint8")},
          {"y_scale", y_scale},     {"y_zero_point", to.zero_point},
          {"low", to.low},          {"high", to.high}};
}

OpCase with_weights(std::string name, Attrs attrs, const Shape& x, const Shape& w, const To& to) {
  const Fill& fill = to.bits == 7 ? kHalfWeights : kWeights;
  return {.name = std::move(name),
          .attrs = std::move(attrs),
          .inputs = {codes(x),
                     {.shape = w, .fill = fill, .dtype = DType::int8},
                     {.shape = {w[0]}, .fill = kScales, .dtype = DType::float32},
                     {.shape = {w[0]}, .fill = kBias, .dtype = DType::int32}},
          .bound = ulps(4),
          .gradient = false};
}

OpCase product(std::string name, const Shape& x, int64_t units, const To& to = {}) {
  return with_weights(std::move(name), product_attrs(double(x[-1]), to), x, {units, x[-1]}, to);
}

struct Window {
  Ints strides = {1, 1}, pads = {0, 0, 0, 0}, dilation = {1, 1};
  int64_t groups = 1;
};

OpCase convolution(std::string name, const Shape& x, const Shape& w, const Window& window = {},
                   const To& to = {}) {
  Attrs attrs = product_attrs(double(w[1] * w[2] * w[3]), to);
  attrs.set("strides", window.strides);
  attrs.set("pads", window.pads);
  attrs.set("dilation", window.dilation);
  attrs.set("groups", window.groups);
  return with_weights(std::move(name), std::move(attrs), x, w, to);
}

Attrs params(double scale, int64_t zero_point) {
  return {{"scale", scale}, {"zero_point", zero_point}};
}

void add_conversions(OpCaseTable& table) {
  OpCases &to = table["quantize"], &back = table["dequantize"];
  Fill floats{.low = -3, .high = 3}, halves{.low = -3, .high = 3, .step = 0.5};
  for (const Shape& shape : {Shape{1}, Shape{7, 3}, Shape{2, 5, 5, 17}, Shape{4, 1000}}) {
    std::string size = std::to_string(shape.elements());
    to.good.push_back({"signed_" + size, params(0.0237, 128), {{shape, floats}}, exact(), false});
    to.good.push_back({"from_zero_" + size, params(0.0117, 0), {{shape, floats}}, exact(), false});
    to.good.push_back({"ties_" + size, params(1, 3), {{shape, halves}}, exact(), false});
    back.good.push_back({"signed_" + size, params(0.0237, 127), {codes(shape)}, ulps(1), false});
  }
  TensorSpec x{DType::float32, {2, 3}}, c{DType::uint8, {2, 3}};
  to.bad = {{"integers", params(1, 0), {c}}, {"two operands", params(1, 0), {x, x}}};
  back.bad = {{"floats", params(1, 0), {x}}};
}

void add_products(OpCases& cases) {
  cases.good = {product("one_by_one", {1, 1}, 1),
                product("small", {3, 5}, 7),
                product("one_row", {1, 64}, 10),
                product("sixteens", {16, 64}, 48),
                product("just_beyond", {33, 65}, 31),
                product("long_inner", {3, 1003}, 5),
                product("rank_4", {2, 3, 4, 16}, 12),
                product("large", {130, 256}, 190),
                product("floats", {9, 40}, 13, {.floats = true}),
                product("relu", {9, 40}, 13, {.low = 128}),
                product("relu_to_6", {9, 40}, 13, {.zero_point = 10, .low = 10, .high = 200}),
                product("unsigned", {9, 40}, 16, {.zero_point = 0}),
                product("seven_bits", {17, 96}, 16, {.bits = 7})};
  Attrs good = product_attrs(5, {});
  TensorSpec x{DType::uint8, {3, 5}}, w{DType::int8, {7, 5}}, s{DType::float32, {7}},
      b{DType::int32, {7}};
  cases.bad = {{"inner dimensions that differ", good, {x, {DType::int8, {7, 4}}, s, b}},
               {"a float kernel", good, {x, {DType::float32, {7, 5}}, s, b}},
               {"scales of another length", good, {x, w, {DType::float32, {5}}, b}},
               {"a float bias", good, {x, w, s, s}},
               {"no bias", good, {x, w, s}},
               {"sums that an int32 may not hold",
                good,
                {{DType::uint8, {3, 70000}}, {DType::int8, {7, 70000}}, s, b}}};
}

void add_convolutions(OpCases& cases) {
  Window same{.pads = {1, 1, 1, 1}}, strided{.strides = {2, 2}, .pads = {0, 1, 0, 1}};
  cases.good = {
      convolution("pixel", {1, 1, 1, 1}, {1, 1, 1, 1}),
      convolution("one_by_one", {2, 5, 5, 16}, {24, 1, 1, 16}),
      convolution("one_by_one_odd", {2, 5, 7, 13}, {9, 1, 1, 13}),
      convolution("three_by_three", {2, 9, 9, 16}, {32, 3, 3, 16}),
      convolution("same", {2, 9, 7, 20}, {33, 3, 3, 20}, same),
      convolution("strided", {1, 11, 10, 8}, {16, 3, 3, 8}, strided),
      convolution("strided_one_by_one", {2, 8, 8, 32}, {16, 1, 1, 32}, {.strides = {2, 2}}),
      convolution("dilated", {1, 12, 12, 8}, {8, 3, 3, 8}, {.dilation = {2, 3}}),
      convolution("one_channel", {3, 14, 14, 1}, {8, 5, 5, 1}, {.pads = {2, 2, 2, 2}}),
      convolution("three_channels", {2, 16, 16, 3}, {16, 3, 3, 3}, same),
      convolution("not_square", {1, 8, 12, 6}, {10, 1, 5, 6}, {.pads = {0, 0, 2, 2}}),
      convolution("groups", {2, 7, 7, 16}, {24, 3, 3, 4}, {.pads = {1, 1, 1, 1}, .groups = 4}),
      convolution("depthwise", {2, 9, 9, 32}, {32, 3, 3, 1}, {.pads = {1, 1, 1, 1}, .groups = 32}),
      convolution("depthwise_odd", {1, 8, 8, 19}, {19, 3, 3, 1}, {.strides = {2, 2}, .groups = 19}),
      convolution("depthwise_twice", {1, 6, 6, 8}, {16, 3, 3, 1}, {.groups = 8}),
      convolution("floats", {2, 9, 9, 16}, {32, 3, 3, 16}, same, {.floats = true}),
      convolution("relu", {2, 9, 9, 16}, {32, 3, 3, 16}, same, {.low = 128}),
      convolution("unsigned", {2, 9, 9, 16}, {32, 3, 3, 16}, same, {.zero_point = 0}),
      convolution("clipped", {2, 6, 6, 16}, {16, 3, 3, 16}, {},
                  {.zero_point = 9, .low = 9, .high = 180}),
      convolution("seven_bits", {2, 9, 9, 16}, {32, 3, 3, 16}, same, {.bits = 7})};
  Attrs good = cases.good[3].attrs;
  TensorSpec x{DType::uint8, {2, 9, 9, 16}}, w{DType::int8, {32, 3, 3, 16}},
      s{DType::float32, {32}}, b{DType::int32, {32}};
  cases.bad = {{"no bias", good, {x, w, s}},
               {"three dimensions", good, {{DType::uint8, {9, 9, 16}}, w, s, b}},
               {"another number of channels", good, {{DType::uint8, {2, 9, 9, 8}}, w, s, b}},
               {"an image smaller than the kernel", good, {{DType::uint8, {2, 2, 2, 16}}, w, s, b}},
               {"floats", good, {{DType::float32, {2, 9, 9, 16}}, w, s, b}},
               {"signed images", good, {{DType::int8, {2, 9, 9, 16}}, w, s, b}}};
}

void add_sums_and_tables(OpCaseTable& table) {
  OpCases &add = table["quantized_add"], &multiply = table["quantized_multiply"],
          &lookup = table["quantized_lookup"];
  auto attrs = [](bool floats, int64_t low) {
    return Attrs{{"a_scale", 0.02},
                 {"a_zero_point", int64_t(7)},
                 {"b_scale", 0.0331},
                 {"b_zero_point", int64_t(130)},
                 {"dtype", std::string(floats ? "float32" : "uint8")},
                 {"y_scale", 0.0467},
                 {"y_zero_point", int64_t(96)},
                 {"low", low},
                 {"high", int64_t(255)}};
  };
  for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{2, 9, 9, 33}}) {
    std::string size = std::to_string(shape.elements());
    add.good.push_back({size, attrs(false, 0), {codes(shape), codes(shape)}, exact(), false});
    add.good.push_back(
        {"relu_" + size, attrs(false, 96), {codes(shape), codes(shape)}, exact(), false});
    add.good.push_back(
        {"floats_" + size, attrs(true, 0), {codes(shape), codes(shape)}, ulps(2, 1), false});
    multiply.good.push_back({size, attrs(false, 0), {codes(shape), codes(shape)}, exact(), false});
    multiply.good.push_back(
        {"floats_" + size, attrs(true, 0), {codes(shape), codes(shape)}, ulps(2), false});
    lookup.good.push_back({size, {}, {codes(shape), codes({256})}, exact(), false});
  }
  for (const auto& [shape, gate] : {std::pair(Shape{2, 9, 9, 33}, Shape{2, 1, 1, 33}),
                                    std::pair(Shape{3, 5, 16}, Shape{3, 1, 16})}) {
    std::string size = std::to_string(shape.elements());
    multiply.good.push_back(
        {"gate_" + size, attrs(false, 96), {codes(shape), codes(gate)}, exact(), false});
  }
  TensorSpec x{DType::uint8, {2, 3}};
  add.bad = {{"shapes that differ", attrs(false, 0), {x, {DType::uint8, {2, 1}}}},
             {"floats", attrs(false, 0), {{DType::float32, {2, 3}}, {DType::float32, {2, 3}}}}};
  multiply.bad = {{"another number of channels", attrs(false, 0), {x, {DType::uint8, {2, 1}}}},
                  {"more samples", attrs(false, 0), {x, {DType::uint8, {3, 3}}}},
                  {"a second operand of floats", attrs(false, 0), {x, {DType::float32, {2, 3}}}}};
  lookup.bad = {{"a table of 255 codes", {}, {x, {DType::uint8, {255}}}},
                {"a table of floats", {}, {x, {DType::float32, {256}}}}};
}

void add_pools(OpCaseTable& table) {
  OpCases &max = table["quantized_max_pool2d"], &mean = table["quantized_avg_pool2d"];
  struct Pool {
    std::string name;
    Shape x;
    Ints window = {2, 2}, strides = {2, 2}, pads = {0, 0, 0, 0};
  };
  for (const Pool& at : {Pool{"two_by_two", {2, 6, 6, 3}}, Pool{"many_channels", {1, 4, 4, 300}},
                         Pool{"overlapping", {1, 7, 7, 16}, {3, 3}},
                         Pool{"same_padding", {1, 7, 7, 5}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
                         Pool{"whole_image", {2, 5, 5, 7}, {5, 5}, {5, 5}},
                         Pool{"not_square", {1, 6, 9, 3}, {2, 3}, {2, 3}}}) {
    Attrs attrs = {{"window", at.window}, {"strides", at.strides}, {"pads", at.pads}};
    max.good.push_back({at.name, attrs, {codes(at.x)}, exact(), false});
    attrs.set("x_scale", 0.05);
    attrs.set("x_zero_point", int64_t(100));
    attrs.set("y_scale", 0.0317);
    attrs.set("y_zero_point", int64_t(120));
    mean.good.push_back({at.name, attrs, {codes(at.x)}, exact(), false});
    attrs.set("dtype", std::string("float32"));
    mean.good.push_back({at.name + "_floats", attrs, {codes(at.x)}, ulps(4, 1), false});
  }
  Attrs large = mean.good[0].attrs;
  large.set("window", Ints{7, 7});
  TensorSpec x{DType::uint8, {2, 6, 6, 3}};
  max.bad = mean.bad = {{"a window larger than the image", large, {x}},
                        {"floats", mean.good[0].attrs, {{DType::float32, {2, 6, 6, 3}}}},
                        {"three dimensions", mean.good[0].attrs, {{DType::uint8, {6, 6, 3}}}}};
}

}  // namespace

void add_quantized_cases(OpCaseTable& table) {
  add_conversions(table);
  add_products(table["quantized_matmul"]);
  add_convolutions(table["quantized_conv2d"]);
  add_sums_and_tables(table);
  add_pools(table);
}

}  // namespace stoker::test
