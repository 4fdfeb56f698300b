// take, take_grad, argsort, cumulate, segment_reduce.
#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

void add_take(OpCaseTable& table, const std::string& name, const Shape& x, int axis,
              const Shape& indices) {
  Fill valid{0, double(x[axis])};
  Attrs along = {{"axis", int64_t(axis)}};
  for (DType dtype : {kInt32, kInt64})
    table["take"].good.push_back({fmt::format("{}_{}", name, stoker::name(dtype)),
                                  along,
                                  {{x, {0, 50}}, {indices, valid, dtype}},
                                  exact()});
  Attrs back = {{"axis", int64_t(axis)}, {"extent", x[axis]}};
  table["take_grad"].good.push_back({name,
                                     back,
                                     {{indices, valid}, {x.with(axis, indices[-1]), {}, kFloat32}},
                                     sums(double(indices[-1]), {1})});
}

void add_take_cases(OpCaseTable& table) {
  add_take(table, "vector", {7}, 0, {5});
  add_take(table, "rows", {5, 3}, 0, {4});
  add_take(table, "last_axis_shared", {4, 6}, 1, {9});
  add_take(table, "last_axis_own", {4, 6}, 1, {4, 3});
  add_take(table, "middle_shared", {2, 5, 3}, 1, {7});
  add_take(table, "middle_own", {2, 5, 3}, 1, {2, 4});
  add_take(table, "deep_own", {2, 3, 4, 5}, 2, {2, 3, 6});
  add_take(table, "one_element", {3, 1}, 1, {3, 2});
  add_take(table, "many_repeats", {2, 3, 17}, 1, {2, 80});
  add_take(table, "large", {41, 501}, 1, {41, 300});
  table["take"].good.push_back({"outside_reads_the_nearest",
                                {{"axis", int64_t(1)}},
                                {{{3, 4}, {0, 50}}, {{9}, {-5, 9}, kInt32}},
                                exact()});
  TensorSpec x{kFloat32, {4, 6}}, ids{kInt32, {3}}, own{kInt32, {4, 3}};
  Attrs first = {{"axis", int64_t(0)}}, last = {{"axis", int64_t(1)}};
  table["take"].bad = {{"floats for indices", last, {x, {kFloat32, {3}}}},
                       {"an axis that does not exist", {{"axis", int64_t(2)}}, {x, ids}},
                       {"indices of other rows", last, {x, {kInt32, {5, 3}}}},
                       {"own indices for the first axis", first, {x, own}},
                       {"an empty axis", last, {{kFloat32, {4, 0}}, ids}},
                       {"no indices", last, {x}}};
  Attrs back = {{"axis", int64_t(1)}, {"extent", int64_t(6)}};
  table["take_grad"].bad = {{"a gradient of another length", back, {ids, {kFloat32, {4, 5}}}},
                            {"floats for indices", back, {{kFloat32, {3}}, {kFloat32, {4, 3}}}}};
}

void add_argsort_cases(OpCaseTable& table) {
  OpCases& cases = table["argsort"];
  auto add = [&](std::string name, const Shape& x, int64_t k, bool descending, Fill fill) {
    cases.good.push_back(
        {std::move(name), {{"k", k}, {"descending", descending}}, {{x, std::move(fill)}}, exact()});
  };
  Fill few{.low = -3, .high = 3, .step = 1}, wide{-1000, 1000};
  add("vector", {13}, 13, false, wide);
  add("rows", {5, 7}, 7, false, wide);
  add("rows_descending", {5, 7}, 7, true, wide);
  add("equal_elements_keep_their_order", {4, 33}, 33, false, few);
  add("equal_elements_descending", {4, 33}, 33, true, few);
  add("top_3", {9, 20}, 3, true, few);
  add("top_5_of_many", {3, 2000}, 5, true, wide);
  add("one_column", {6, 1}, 1, false, wide);
  add("three_axes", {2, 3, 9}, 4, false, wide);
  add("long", {1, 10007}, 10007, false, wide);
  add("many_rows", {700, 17}, 17, true, few);
  TensorSpec x{kFloat32, {4, 5}};
  auto attrs = [](int64_t k) { return Attrs{{"k", k}, {"descending", false}}; };
  cases.bad = {{"k of zero", attrs(0), {x}},
               {"k beyond the axis", attrs(6), {x}},
               {"a scalar", attrs(1), {{kFloat32, {}}}},
               {"bools", attrs(1), {{DType::bool_, {4}}}}};
}

void add_cumulate_cases(OpCaseTable& table) {
  OpCases& cases = table["cumulate"];
  auto add = [&](const std::string& name, const Shape& x) {
    for (bool reverse : {false, true}) {
      Attrs attrs = {{"reverse", reverse}};
      std::string way = reverse ? "_reverse" : "";
      cases.good.push_back({name + way, attrs, {{x, {-5, 5}}}, sums(double(x[-1]), {0})});
      cases.good.push_back({.name = name + "_with_factors" + way,
                            .attrs = attrs,
                            .inputs = {{x, {-1, 1}}, {x, {-1, 1}}},
                            .bound = sums(double(x[-1]), {0, 1}),
                            .dtypes = {kFloat32, DType::float16, DType::bfloat16}});
    }
  };
  add("vector", {13});
  add("rows", {5, 7});
  add("one_column", {6, 1});
  add("three_axes", {2, 3, 9});
  add("long", {3, 400});
  add("many_rows", {900, 11});
  TensorSpec x{kFloat32, {4, 5}}, whole{kInt32, {4, 5}};
  cases.bad = {{"a scalar", {}, {{kFloat32, {}}}},
               {"factors of another shape", {}, {x, {kFloat32, {5}}}},
               {"factors of integers", {}, {whole, whole}},
               {"three operands", {}, {x, x, x}}};
}

void add_segment_cases(OpCaseTable& table) {
  OpCases& cases = table["segment_reduce"];
  auto attrs = [](const char* fn, int64_t rows) { return Attrs{{"fn", fn}, {"rows", rows}}; };
  // An empty segment is infinite: no difference is.
  auto add = [&](const std::string& name, const Shape& data, int64_t rows, Fill ids,
                 bool gradient = true) {
    for (const char* fn : {"max", "min", "sum"}) {
      OpCase one{fmt::format("{}_{}", fn, name),
                 attrs(fn, rows),
                 {{data, {.distinct = true}}, {{data[0]}, ids, kInt32}},
                 exact(),
                 gradient};
      if (fn == std::string("sum")) {
        one.dtypes = {kInt32, kInt64};
        one.inputs[0].fill = {-50, 50};
      }
      cases.good.push_back(std::move(one));
    }
  };
  add("vector", {20}, 4, {.values = {3, 0, 0, 2, 1, 3, 2}});
  add("rows", {12, 5}, 3, {.values = {1, 1, 0, 2, 0}});
  add("images", {6, 2, 3}, 4, {.values = {2, 3, 0, 1, 0}});
  add("empty_segments", {5}, 9, {2, 5}, false);
  add("ids_outside_are_dropped", {15, 2}, 3, {.values = {-2, 1, 6, 0, 2, 2, 3}});
  add("large", {900, 33}, 50, {0, 50}, false);
  TensorSpec data{kFloat32, {4, 5}}, ids{kInt32, {4}};
  cases.bad = {{"a float sum", attrs("sum", 3), {data, ids}},
               {"ids of another length", attrs("max", 3), {data, {kInt32, {5}}}},
               {"floats for ids", attrs("max", 3), {data, {kFloat32, {4}}}},
               {"no segments", attrs("max", 0), {data, ids}},
               {"scalar data", attrs("max", 3), {{kFloat32, {}}, ids}}};
}

}  // namespace

void add_order_cases(OpCaseTable& table) {
  add_take_cases(table);
  add_argsort_cases(table);
  add_cumulate_cases(table);
  add_segment_cases(table);
}

}  // namespace stoker::test
