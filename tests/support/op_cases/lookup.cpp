// gather, gather_grad, one_hot, in_top_k, dropout.
#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

void add_gather(OpCaseTable& table, const std::string& name, const Shape& rows,
                const Shape& indices) {
  Fill valid{0, double(rows[0])};
  Ints dims(indices.begin(), indices.end());
  dims.insert(dims.end(), rows.begin() + 1, rows.end());
  for (DType dtype : {kInt32, kInt64})
    table["gather"].good.push_back({fmt::format("{}_{}", name, stoker::name(dtype)),
                                    {},
                                    {{rows, {-50, 50}}, {indices, valid, dtype}},
                                    exact()});
  table["gather_grad"].good.push_back({name,
                                       {{"rows", rows[0]}},
                                       {{indices, valid}, {Shape(dims), {}, kFloat32}},
                                       sums(double(indices.elements()), {1})});
}

void add_gather_cases(OpCaseTable& table) {
  add_gather(table, "words", {10, 4}, {2, 3});
  add_gather(table, "one_word", {10, 4}, {});
  add_gather(table, "vector_table", {7}, {5});
  add_gather(table, "one_row", {1, 3}, {4});
  add_gather(table, "images", {5, 2, 3}, {4});
  add_gather(table, "many_repeats", {3, 17}, {50});
  add_gather(table, "large", {501, 65}, {37, 40});
  TensorSpec rows{kFloat32, {10, 4}}, ids{kInt32, {3}}, floats{kFloat32, {3}};
  table["gather"].bad = {{"floats for indices", {}, {rows, floats}},
                         {"a scalar table", {}, {{kFloat32, {}}, ids}},
                         {"no indices", {}, {rows}}};
  table["gather_grad"].bad = {
      {"a gradient of another length", {{"rows", int64_t(10)}}, {ids, {kFloat32, {4, 4}}}},
      {"floats for indices", {{"rows", int64_t(10)}}, {floats, {kFloat32, {3, 4}}}}};
}

void add_one_hot_cases(OpCaseTable& table) {
  OpCases& cases = table["one_hot"];
  auto attrs = [](int64_t depth) { return Attrs{{"depth", depth}, {"dtype", "float32"}}; };
  cases.good = {{"classes", attrs(10), {{{5}, {0, 10}}}, exact()},
                {"scalar", attrs(3), {{{}, {0, 3}}}, exact()},
                {"matrix", attrs(7), {{{2, 3}, {0, 7}}}, exact()},
                {"outside_gives_zeros", attrs(4), {{{12}, {-3, 8}}}, exact()},
                {"depth_1", attrs(1), {{{6}, {0, 2}}}, exact()}};
  cases.bad = {
      {"floats for indices", attrs(3), {{kFloat32, {3}}}},
      {"no classes", attrs(0), {{kInt32, {3}}}},
      {"integers for a result", {{"depth", int64_t(3)}, {"dtype", "int32"}}, {{kInt32, {3}}}}};
}

void add_in_top_k_cases(OpCaseTable& table) {
  OpCases& cases = table["in_top_k"];
  auto add = [&](std::string name, int64_t k, Shape predictions, Fill fill, DType dtype) {
    cases.good.push_back(
        {std::move(name),
         {{"k", k}},
         {{predictions, std::move(fill)}, {{predictions[0]}, {0, double(predictions[1])}, dtype}},
         exact()});
  };
  Fill few{.low = 0, .high = 3, .step = 1};
  add("top_1", 1, {9, 5}, {}, kInt32);
  add("top_3", 3, {9, 7}, {}, kInt64);
  add("ties", 2, {20, 6}, few, kInt32);
  add("more_than_classes", 5, {4, 3}, {}, kInt64);
  add("one_class", 1, {3, 1}, {}, kInt32);
  add("many_classes", 5, {3, 1000}, {}, kInt64);
  TensorSpec predictions{kFloat32, {4, 5}};
  cases.bad = {{"targets of another length", {{"k", int64_t(1)}}, {predictions, {kInt32, {5}}}},
               {"floats for targets", {{"k", int64_t(1)}}, {predictions, {kFloat32, {4}}}},
               {"k of zero", {{"k", int64_t(0)}}, {predictions, {kInt32, {4}}}}};
}

}  // namespace

void add_dropout_cases(OpCaseTable& table) {
  OpCases& cases = table["dropout"];
  auto add = [&](std::string name, Shape x, double rate, int64_t stream,
                 std::vector<double> state) {
    cases.good.push_back({std::move(name),
                          {{"rate", rate}, {"stream", stream}},
                          {{x}, {{2}, {.values = std::move(state)}, kInt64}},
                          ulps(4)});
  };
  add("half", {3, 7}, 0.5, 0, {1, 0});
  add("tenth", {2, 3, 3, 5}, 0.1, 1, {42, 7});
  add("most", {1000}, 0.9, 3, {7, 1000000});
  add("none", {13}, 0, 0, {1, 2});
  add("one_element", {1}, 0.3, 2, {5, 5});
  add("long", {10007}, 0.25, 65535, {123456789012, 3});
  add("seed_of_64_bits", {33}, 0.5, 0, {-7, 70000});
  TensorSpec x{kFloat32, {3}}, state{kInt64, {2}};
  Attrs attrs = {{"rate", 0.5}, {"stream", int64_t(0)}};
  cases.bad = {{"a rate of 1", {{"rate", 1.0}, {"stream", int64_t(0)}}, {x, state}},
               {"a state of another shape", attrs, {x, {kInt64, {3}}}},
               {"a state of floats", attrs, {x, {kFloat32, {2}}}},
               {"no state", attrs, {x}}};
}

void add_random_cases(OpCaseTable& table) {
  OpCases& cases = table["random"];
  auto attrs = [](const std::string& fn, const Ints& shape, double low = 0, double high = 1) {
    return Attrs{{"fn", fn},     {"shape", shape},       {"stream", int64_t(3)},     {"low", low},
                 {"high", high}, {"first", int64_t(-7)}, {"range", int64_t(1) << 40}};
  };
  InputCase state{{2}, {.values = {42, 7}}, kInt64};
  for (std::string fn : {"uniform", "normal", "truncated_normal", "gumbel", "integer"}) {
    cases.good.push_back({fn, attrs(fn, {5, 7}), {state}, exact()});
    cases.good.push_back({fn + "_long", attrs(fn, {20001}, -3, 0.5), {state}, exact()});
    cases.good.push_back({fn + "_scalar", attrs(fn, {}), {state}, exact()});
  }
  cases.good.push_back(
      {"gamma", attrs("gamma", {300}), {state, {{300}, {0.1, 9}, kFloat32}}, exact(), false});
  cases.good.push_back(
      {"binomial",
       attrs("binomial", {40}),
       {state, {{40}, {.low = 0, .high = 90, .step = 1}, kFloat32}, {{40}, {0, 1}, kFloat32}},
       exact(),
       false});
  cases.bad = {
      {"a state of floats", attrs("normal", {3}), {{kFloat32, {2}}}},
      {"a parameter too many", attrs("normal", {3}), {{kInt64, {2}}, {kFloat32, {3}}}},
      {"no parameter", attrs("gamma", {3}), {{kInt64, {2}}}},
      {"a parameter of another shape", attrs("gamma", {3}), {{kInt64, {2}}, {kFloat32, {4}}}}};
}

void add_lookup_cases(OpCaseTable& table) {
  add_gather_cases(table);
  add_one_hot_cases(table);
  add_in_top_k_cases(table);
  add_dropout_cases(table);
  add_random_cases(table);
}

}  // namespace stoker::test
