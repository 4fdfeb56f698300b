// reduce and argmax: first, last, middle and all axes, ranks 0 to 4.
#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

struct Pattern {
  std::string name;
  Shape shape;
  Ints axes;
  bool keepdims = false;
};

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = {
      {"vector", {13}, {0}},
      {"rows", {5, 7}, {1}},
      {"columns", {5, 7}, {0}},
      {"all_axes", {3, 4, 5}, {0, 1, 2}},
      {"middle", {3, 4, 5}, {1}},
      {"outer_two", {3, 4, 5}, {0, 2}},
      {"kept", {3, 4, 5}, {1, 2}, true},
      {"to_channels", {2, 3, 3, 30}, {0, 1, 2}},
      {"over_pixels", {2, 5, 5, 3}, {1, 2}},
      {"single_element", {1}, {0}},
      {"no_axes", {2, 3}, {}},
      {"scalar", {}, {}},
  };
  return all;
}

double reduced_elements(const Pattern& pattern) {
  double count = 1;
  for (int64_t axis : pattern.axes) count *= double(pattern.shape[int(axis)]);
  return count;
}

Attrs attributes(const std::string& fn, const Pattern& pattern) {
  return {{"fn", fn}, {"axes", pattern.axes}, {"keepdims", pattern.keepdims}};
}

void add_case(OpCases& cases, const std::string& fn, const Pattern& pattern) {
  OpCase one{fn + "_" + pattern.name,
             attributes(fn, pattern),
             {{pattern.shape, {-5, 5}}},
             sums(reduced_elements(pattern), {0})};
  if (fn == "mean") one.dtypes = {DType::float32, DType::float16, DType::bfloat16};
  if (fn == "max" || fn == "min") {
    one.inputs[0].fill = {.distinct = true};
    one.bound = exact();
  }
  if (fn == "prod") one.inputs[0].fill = {0.5, 2};
  cases.good.push_back(std::move(one));
}

OpCases reduce_cases() {
  OpCases cases;
  for (std::string fn : {"sum", "mean", "max", "min", "prod"})
    for (const Pattern& pattern : patterns()) add_case(cases, fn, pattern);
  // Of one sign: with random ones the allowed error would be as large as the sum.
  for (const Pattern& pattern : {Pattern{"long", {3, 10007}, {1}},
                                 {"long_columns", {5003, 3}, {0}},
                                 {"large", {1021, 67}, {0, 1}},
                                 {"large_columns", {1021, 67}, {0}},
                                 {"large_middle", {11, 101, 67}, {1}}}) {
    add_case(cases, "sum", pattern);
    cases.good.back().inputs[0].fill = {0, 5};
  }
  add_case(cases, "max", {"large_columns", {1021, 67}, {0}});
  Pattern rows{"", {4, 5}, {1}};
  cases.good.push_back({.name = "prod_with_zeros",
                        .attrs = attributes("prod", rows),
                        .inputs = {{{4, 5}, {.values = {1, 2, 0, 4, 5, 0, 2, 0, 4, 3, 1, 2, 3}}}},
                        .bound = exact()});
  cases.good.push_back({.name = "max_of_equals",
                        .attrs = attributes("max", rows),
                        .inputs = {{{4, 5}, {.values = {1, 1, 0}}}},
                        .bound = exact(),
                        .gradient = false});
  TensorSpec x{DType::float32, {4, 5}};
  auto with_axes = [](Ints axes) {
    return Attrs{{"fn", "sum"}, {"axes", axes}, {"keepdims", false}};
  };
  cases.bad = {{"an axis that does not exist", with_axes({2}), {x}},
               {"a negative axis", with_axes({-1}), {x}},
               {"an axis twice", with_axes({1, 1}), {x}},
               {"a mean of integers", attributes("mean", rows), {{DType::int32, {4, 5}}}},
               {"booleans", with_axes({0}), {{DType::bool_, {4, 5}}}}};
  return cases;
}

OpCases argmax_cases() {
  OpCases cases;
  auto add = [&](std::string name, Shape shape, int64_t axis, Fill fill) {
    cases.good.push_back({std::move(name), {{"axis", axis}}, {{shape, std::move(fill)}}, exact()});
  };
  Fill any{-50, 50};
  add("vector", {13}, 0, any);
  add("rows", {6, 10}, 1, any);
  add("columns", {6, 10}, 0, any);
  add("middle", {3, 4, 5}, 1, any);
  add("one_class", {4, 1}, 1, any);
  add("many_classes", {2, 1000}, 1, any);
  add("first_of_equals", {5, 7}, 1, {.low = 0, .high = 2, .step = 1});
  add("all_negative", {3, 9}, 1, {-9, -1});
  add("large", {1021, 67}, 1, any);
  cases.bad = {{"an axis that does not exist", {{"axis", int64_t(2)}}, {{DType::float32, {4, 5}}}},
               {"a scalar", {{"axis", int64_t(0)}}, {{DType::float32, {}}}}};
  return cases;
}

}  // namespace

void add_reduction_cases(OpCaseTable& table) {
  table["reduce"] = reduce_cases();
  table["argmax"] = argmax_cases();
}

}  // namespace stoker::test
