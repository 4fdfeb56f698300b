// binary, compare, select, cast, moving_average: every broadcasting pattern, every pair of dtypes.
#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

const std::vector<DType> kFloats = {DType::float32, DType::float16, DType::bfloat16};

struct Pattern {
  std::string name;
  Shape a, b;
};

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = {
      {"same_shape", {3, 5}, {3, 5}},
      {"row", {4, 7}, {7}},
      {"column", {4, 7}, {4, 1}},
      {"row_first", {7}, {4, 7}},
      {"scalar_right", {2, 9}, {}},
      {"scalar_left", {}, {2, 9}},
      {"scalars", {}, {}},
      {"one_element", {1}, {9}},
      {"both_grow", {2, 1, 5}, {3, 1}},
      {"channels", {2, 3, 3, 30}, {30}},
      {"batch_and_channels", {2, 3, 4, 5}, {1, 3, 1, 5}},
      {"long", {1001}, {1001}},
  };
  return all;
}

void add_binary_case(OpCases& cases, const std::string& fn, const Pattern& pattern) {
  OpCase one{
      fn + "_" + pattern.name, {{"fn", fn}}, {{pattern.a, {-9, 9}}, {pattern.b, {-9, 9}}}, ulps(4)};
  if (fn == "div") one.inputs[1].fill = {1, 9};
  if (fn == "pow") {
    one.inputs[0].fill = {0.5, 2};
    one.inputs[1].fill = {-2, 2};
    one.bound = ulps(16);
    one.dtypes = kFloats;
  }
  if (fn == "mod" || fn == "floor_div") {
    // Rests of eighths by halves: far from a whole quotient, where the result jumps.
    one.inputs[0].fill = {.low = -9, .high = 9, .step = 0.5, .offset = 0.125};
    one.inputs[1].fill = {.low = 1, .high = 9, .step = 0.5};
    one.gradient = fn == "mod";
  }
  if (fn.starts_with("bit_") || fn.starts_with("shift_")) {
    one.bound = exact();
    one.dtypes = {DType::int32, DType::int64};
    one.inputs[0].fill = {-1000, 1000};
    if (fn.starts_with("shift_")) one.inputs[1].fill = {-1, 12};
  }
  if (fn == "maximum" || fn == "minimum") {
    // Halves against quarters: nowhere closer than 1/4.
    one.inputs[0].fill = {.low = -9, .high = 9, .step = 0.5};
    one.inputs[1].fill = {.low = -9, .high = 9, .step = 0.5, .offset = 0.25};
  }
  cases.good.push_back(std::move(one));
}

OpCases binary_cases() {
  OpCases cases;
  for (const Pattern& pattern : patterns())
    for (std::string fn : {"add", "maximum"}) add_binary_case(cases, fn, pattern);
  for (std::string fn : {"sub", "mul", "div", "pow", "minimum", "mod", "floor_div", "bit_and",
                         "bit_or", "bit_xor", "shift_left", "shift_right"})
    for (size_t which : {0, 1, 2, 3, 4, 5, 8}) add_binary_case(cases, fn, patterns()[which]);
  for (const Pattern& large : {Pattern{"large", {67, 1021}, {67, 1021}},
                               {"large_row", {1021, 67}, {67}},
                               {"large_column", {67, 1021}, {67, 1}}})
    add_binary_case(cases, "mul", large);
  cases.good.push_back({.name = "div_of_negative_integers_truncates",
                        .attrs = {{"fn", "div"}},
                        .inputs = {{{40}, {-20, 20}}, {{40}, {-5, 5, {0}}}},
                        .bound = exact(),
                        .dtypes = {DType::int32, DType::int64}});
  cases.good.push_back({.name = "maximum_of_equals",
                        .attrs = {{"fn", "maximum"}},
                        .inputs = {{{9}, {.values = {1, 2, 3}}}, {{9}, {.values = {1, 3, 2}}}},
                        .bound = exact(),
                        .gradient = false});
  TensorSpec f34{DType::float32, {3, 4}}, f5{DType::float32, {5}}, i34{DType::int32, {3, 4}};
  cases.bad = {{"shapes that do not broadcast", {{"fn", "add"}}, {f34, f5}},
               {"dtypes that differ", {{"fn", "add"}}, {f34, i34}},
               {"integers to a power", {{"fn", "pow"}}, {i34, i34}},
               {"one operand", {{"fn", "add"}}, {f34}}};
  return cases;
}

OpCases compare_cases() {
  OpCases cases;
  Fill few{.low = 0, .high = 3, .step = 1};  // so that some are equal
  for (std::string fn : {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
    for (size_t which : {0, 1, 2, 4, 8}) {
      const Pattern& pattern = patterns()[which];
      cases.good.push_back(
          {fn + "_" + pattern.name, {{"fn", fn}}, {{pattern.a, few}, {pattern.b, few}}, exact()});
    }
  TensorSpec f3{DType::float32, {3}}, f2{DType::float32, {2}}, i3{DType::int64, {3}};
  cases.bad = {{"shapes that do not broadcast", {{"fn", "less"}}, {f3, f2}},
               {"dtypes that differ", {{"fn", "less"}}, {f3, i3}}};
  return cases;
}

OpCases select_cases() {
  OpCases cases;
  auto add = [&](std::string name, Shape condition, Shape a, Shape b, DType dtype) {
    cases.good.push_back({fmt::format("{}_{}", name, stoker::name(dtype)),
                          {},
                          {{condition}, {a, {0, 100}, dtype}, {b, {0, 100}, dtype}},
                          exact()});
  };
  for (DType dtype : {DType::float32, DType::int32, DType::int64, DType::bool_})
    add("same_shape", {3, 5}, {3, 5}, {3, 5}, dtype);
  add("scalars", {7}, {}, {}, DType::float32);
  add("scalar_condition", {}, {4, 3}, {4, 3}, DType::float32);
  add("scalar_zero", {2, 3, 4}, {2, 3, 4}, {}, DType::float32);
  add("all_grow", {2, 1, 1}, {3, 1}, {5}, DType::float32);
  TensorSpec b3{DType::bool_, {3}}, f3{DType::float32, {3}}, f4{DType::float32, {4}},
      i3{DType::int32, {3}};
  cases.bad = {{"a condition of floats", {}, {f3, f3, f3}},
               {"shapes that do not broadcast", {}, {b3, f3, f4}},
               {"dtypes that differ", {}, {b3, f3, i3}}};
  return cases;
}

OpCases cast_cases() {
  OpCases cases;
  for (std::string to :
       {"float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"})
    cases.good.push_back({"to_" + to, {{"dtype", to}}, {{{3, 13}, {0, 100}}}, exact()});
  for (std::string to : {"int8", "int32", "int64", "bool", "float16"})
    cases.good.push_back(
        {.name = "signed_to_" + to,
         .attrs = {{"dtype", to}},
         .inputs = {{{8}, {.values = {-1.75, -1, -0.5, 0, 0.5, 1.99, -100.7, 99.9}}}},
         .bound = exact(),
         .gradient = false,
         .dtypes = {DType::float32, DType::int32}});
  cases.bad = {{"bytes", {{"dtype", "float32"}}, {{DType::bytes, {3}}}},
               {"to bytes", {{"dtype", "bytes"}}, {{DType::float32, {3}}}}};
  return cases;
}

OpCases moving_average_cases() {
  OpCases cases;
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{30}, Shape{2, 17}})
    cases.good.push_back({fmt::format("of_{}_elements", shape.elements()),
                          {{"momentum", 0.99}},
                          {{shape}, {shape}},
                          sums(2, {0, 1})});
  cases.bad = {
      {"shapes that differ", {{"momentum", 0.9}}, {{DType::float32, {3}}, {DType::float32, {4}}}},
      {"integers", {{"momentum", 0.9}}, {{DType::int32, {3}}, {DType::int32, {3}}}}};
  return cases;
}

}  // namespace

void add_elementwise_cases(OpCaseTable& table) {
  table["binary"] = binary_cases();
  table["compare"] = compare_cases();
  table["select"] = select_cases();
  table["cast"] = cast_cases();
  table["moving_average"] = moving_average_cases();
}

}  // namespace stoker::test
