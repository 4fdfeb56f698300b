// max_pool2d, avg_pool2d and their gradients, over one list of geometries.
#include "support/op_cases.h"

namespace stoker::test {

namespace {

struct Geometry {
  std::string name;
  Shape x;  // [B, H, W, C]
  Ints window = {2, 2};
  Ints strides = {2, 2};
  Ints pads = {0, 0, 0, 0};  // top, bottom, left, right

  Shape y() const {
    auto extent = [&](int axis) {
      int64_t padded = x[axis + 1] + pads[size_t(2 * axis)] + pads[size_t(2 * axis + 1)];
      return (padded - window[size_t(axis)]) / strides[size_t(axis)] + 1;
    };
    return {x[0], extent(0), extent(1), x[3]};
  }
  Attrs attrs() const { return {{"window", window}, {"strides", strides}, {"pads", pads}}; }
  double elements() const { return double(window[0] * window[1]); }
};

const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> all = {
      {"two_by_two", {2, 6, 6, 3}},
      {"leaves_a_rest", {1, 7, 7, 5}},
      {"many_channels", {1, 4, 4, 30}},
      {"sixteen_channels", {2, 4, 4, 16}},
      {"one_channel", {3, 8, 8, 1}},
      {"overlapping", {1, 7, 7, 3}, {3, 3}, {2, 2}},
      {"stride_1", {2, 5, 5, 2}, {2, 2}, {1, 1}},
      {"same_padding", {1, 7, 7, 3}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
      {"asymmetric_padding", {1, 6, 5, 2}, {3, 2}, {2, 2}, {0, 2, 1, 0}},
      {"not_square", {1, 6, 9, 3}, {2, 3}, {2, 3}},
      {"whole_image", {2, 5, 5, 7}, {5, 5}, {5, 5}},
      {"stride_beyond_window", {1, 9, 9, 2}, {2, 2}, {3, 3}},
      {"one_by_one", {2, 3, 3, 4}, {1, 1}, {1, 1}},
      {"large", {4, 29, 29, 24}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
  };
  return all;
}

Attrs max_grad_attrs(const Geometry& at, std::string activation) {
  Attrs attrs = at.attrs();
  attrs.set("activation", std::move(activation));
  return attrs;
}

// x, the maxima of x, dy. The windows of dy overlap at most `elements` times.
OpCase max_gradient(const Geometry& at, const std::string& activation, Fill fill,
                    std::string suffix = "") {
  return {at.name + (activation.empty() ? "" : "_" + activation) + suffix,
          max_grad_attrs(at, activation),
          {{at.x, std::move(fill)},
           {.shape = at.y(), .derived = Derived{"max_pool2d", at.attrs(), {0}}},
           {at.y()}},
          sums(at.elements(), {2}),
          activation.empty() && suffix.empty()};
}

OpCase avg_gradient(const Geometry& at) {
  Attrs attrs = at.attrs();
  attrs.set("input_shape", Ints(at.x.begin(), at.x.end()));
  return {at.name, attrs, {{at.y()}}, sums(at.elements(), {0})};
}

std::vector<BadCall> bad_pools() {
  TensorSpec x{DType::float32, {2, 6, 6, 3}};
  Geometry large{"", {}, {7, 7}}, padding{"", {}, {2, 2}, {2, 2}, {2, 0, 0, 0}},
      zero{"", {}, {2, 2}, {0, 2}}, good;
  return {{"a window larger than the image", large.attrs(), {x}},
          {"padding as large as the window", padding.attrs(), {x}},
          {"a stride of zero", zero.attrs(), {x}},
          {"three dimensions", good.attrs(), {{DType::float32, {6, 6, 3}}}},
          {"integers", good.attrs(), {{DType::int32, {2, 6, 6, 3}}}}};
}

}  // namespace

void add_pooling_cases(OpCaseTable& table) {
  OpCases &max = table["max_pool2d"], &max_grad = table["max_pool2d_grad"];
  OpCases &avg = table["avg_pool2d"], &avg_grad = table["avg_pool2d_grad"];
  Fill distinct{.distinct = true};
  for (const Geometry& at : geometries()) {
    max.good.push_back({at.name, at.attrs(), {{at.x, distinct}}, exact()});
    avg.good.push_back({at.name, at.attrs(), {{at.x}}, sums(at.elements(), {0})});
    max_grad.good.push_back(max_gradient(at, "", distinct));
    max_grad.good.push_back(max_gradient(at, "relu", {-1, 1, {0}}));
    // What a relu leaves: many zeros, of which the first is the maximum.
    Fill rectified{.values = {0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 1, 1, 0, 0}};
    max_grad.good.push_back(max_gradient(at, "", rectified, "_of_equals"));
    max_grad.good.push_back(max_gradient(at, "relu", rectified, "_of_equals"));
    avg_grad.good.push_back(avg_gradient(at));
  }
  max.good.push_back(
      {"all_negative", geometries()[7].attrs(), {{geometries()[7].x, {-9, -1}}}, exact(), false});
  max.bad = avg.bad = bad_pools();
  TensorSpec x{DType::float32, {2, 6, 6, 3}}, y{DType::float32, {2, 3, 3, 3}},
      wrong{DType::float32, {2, 2, 3, 3}};
  Geometry good{"", {2, 6, 6, 3}};
  max_grad.bad = {{"a gradient of another shape", max_grad_attrs(good, ""), {x, y, wrong}},
                  {"maxima of another shape", max_grad_attrs(good, ""), {x, wrong, y}},
                  {"no gradient", max_grad_attrs(good, ""), {x, y}}};
  avg_grad.bad = {{"a gradient of another shape", avg_gradient(good).attrs, {wrong}}};
}

}  // namespace stoker::test
