#include "kernels/cases.h"

#include <algorithm>

#include <fmt/format.h>

namespace stoker::bench {

const std::vector<Extent>& extents() {
  static const std::vector<Extent> all = {
      {"large", 96 << 20}, {"middle", 16 << 20}, {"odd", 40 << 20, true}};
  return all;
}

Shape Sizes::exact_rows_of(int64_t columns) const {
  return {std::max<int64_t>(elements_ / columns, 1) | int64_t(odd()), columns};
}

Shape Sizes::rows_of(int64_t columns) const { return exact_rows_of(columns | int64_t(odd())); }

Shape Sizes::images_of(int64_t side, int64_t channels) const {
  int64_t height = side | int64_t(odd()), width = odd() ? side - 1 : side;
  int64_t depth = channels | int64_t(odd());
  return {std::max<int64_t>(elements_ / (height * width * depth), 1), height, width, depth};
}

void add_pointwise(const Sizes& sizes, std::vector<KernelCase>& cases) {
  Shape shape = sizes.images_of(56, 96);
  Shape channels = {shape[3]};
  auto unary = [&](const std::string& name, Value (*function)(const Value&)) {
    cases.push_back({name, {{shape}}, [function](const Values& x) { return function(x[0]); }});
  };
  unary("relu", ops::relu);
  unary("silu", ops::silu);
  unary("sigmoid", ops::sigmoid);
  unary("gelu", [](const Value& x) { return ops::gelu(x); });
  cases.push_back(
      {"add, relu", {{shape}, {shape}}, [](const Values& x) { return ops::relu(x[0] + x[1]); }});
  cases.push_back({"scale and shift per channel, silu",
                   {{shape}, {channels}, {channels}},
                   [](const Values& x) { return ops::silu(x[0] * x[1] + x[2]); }});
  cases.push_back({"a · b + c · d", {{shape}, {shape}, {shape}, {shape}}, [](const Values& x) {
                     return x[0] * x[1] + x[2] * x[3];
                   }});
  cases.push_back({"scale by [B, 1, 1, C]",
                   {{shape}, {{shape[0], 1, 1, shape[3]}}},
                   [](const Values& x) { return x[0] * x[1]; }});
  cases.push_back({"cast to float32", {{shape}}, [](const Values& x) {
                     return ops::cast(x[0], DType::float32);
                   }});

  auto reduce = [&](const std::string& name, std::vector<int64_t> axes) {
    cases.push_back({"sum over " + name, {{shape}}, [axes](const Values& x) {
                       return ops::sum(x[0], {.axes = axes});
                     }});
  };
  reduce("the last axis", {3});
  reduce("all but the last axis", {0, 1, 2});
  reduce("the first axis", {0});
  reduce("middle axes", {1, 2});
  reduce("everything", {});
  cases.push_back({"max over middle axes", {{shape}}, [](const Values& x) {
                     return ops::max(x[0], {.axes = {1, 2}});
                   }});
  cases.push_back({"norm (sum of squares)",
                   {{shape}},
                   [](const Values& x) { return ops::sum(ops::square(x[0])); },
                   false});
}

}  // namespace stoker::bench
