// matmul: odd sizes, stacks of matrices, all transpositions, and the forms that fusion makes.
#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

Attrs attributes(bool transpose_a, bool transpose_b, std::string activation = "",
                 double alpha = 0) {
  return {{"transpose_a", transpose_a},
          {"transpose_b", transpose_b},
          {"activation", std::move(activation)},
          {"alpha", alpha}};
}

OpCase product(std::string name, Shape a, Shape b, Attrs attrs = attributes(false, false)) {
  double inner = double(a[attrs.get<bool>("transpose_a") ? -2 : -1]);
  return {std::move(name), std::move(attrs), {{a}, {b}}, sums(inner, {0, 1})};
}

OpCase fused(std::string name, bool bias, const std::string& activation, double alpha = 0) {
  OpCase one =
      product(std::move(name), {5, 30}, {30, 13}, attributes(false, false, activation, alpha));
  if (bias) {
    one.inputs.push_back({{13}});
    one.bound = sums(31, {0, 1, 2});
  }
  one.gradient = false;
  return one;
}

}  // namespace

void add_matmul_cases(OpCaseTable& table) {
  OpCases& cases = table["matmul"];
  cases.good = {
      product("one_by_one", {1, 1}, {1, 1}),
      product("small", {3, 5}, {5, 7}),
      product("one_row", {1, 30}, {30, 10}),
      product("one_column", {9, 17}, {17, 1}),
      product("inner_one", {17, 1}, {1, 9}),
      product("multiples_of_sixteen", {16, 32}, {32, 48}),
      product("just_beyond", {33, 65}, {65, 31}),
      product("long_inner", {3, 1003}, {1003, 5}),
      product("stack", {2, 3, 5}, {2, 5, 7}),
      product("heads", {2, 3, 4, 5}, {2, 3, 5, 6}),
      product("stack_by_matrix", {2, 3, 5}, {5, 7}),
      product("rank4_by_matrix", {2, 3, 4, 5}, {5, 6}),
      product("stack_of_one", {1, 4, 3}, {1, 3, 2}),
  };
  for (bool transpose_a : {false, true})
    for (bool transpose_b : {false, true}) {
      std::string name =
          fmt::format("transposed_{}{}", transpose_a ? "a" : "", transpose_b ? "b" : "");
      if (!transpose_a && !transpose_b) continue;
      Attrs attrs = attributes(transpose_a, transpose_b);
      Shape a = transpose_a ? Shape{5, 9} : Shape{9, 5},
            b = transpose_b ? Shape{7, 5} : Shape{5, 7};
      cases.good.push_back(product(name, a, b, attrs));
      cases.good.push_back(product(name + "_stack", a.prepend(3), b.prepend(3), attrs));
      cases.good.push_back(product(name + "_stack_by_matrix", a.prepend(3), b, attrs));
    }
  for (bool transpose_b : {false, true}) {
    Attrs attrs = attributes(false, transpose_b);
    attrs.set("few_rows", true);
    std::string name = transpose_b ? "few_rows_transposed_b" : "few_rows";
    auto turned = [&](Shape b) { return transpose_b ? Shape{b[1], b[0]} : b; };
    cases.good.push_back(product(name, {1, 257}, turned({257, 190}), attrs));
    cases.good.push_back(product(name + "_3", {3, 1, 67}, turned({67, 35}), attrs));
    cases.good.push_back(product(name + "_too_many", {9, 33}, turned({33, 5}), attrs));
  }
  cases.good.push_back(product("large", {130, 257}, {257, 190}));
  cases.good.push_back(product("large_stack", {6, 65, 33}, {6, 33, 70}));
  cases.good.push_back(fused("bias", true, ""));
  cases.good.push_back(fused("few_rows_bias_tanh", true, "tanh"));
  cases.good.back().attrs.set("few_rows", true);
  cases.good.push_back(fused("relu_without_bias", false, "relu"));
  for (std::string activation : {"relu", "relu6", "sigmoid", "tanh", "hard_sigmoid"})
    cases.good.push_back(fused("bias_" + activation, true, activation));
  cases.good.push_back(fused("bias_leaky_relu", true, "leaky_relu", 0.2));
  cases.good.push_back(fused("bias_elu", true, "elu", 1));
  OpCase stacked = fused("stack_bias_relu", true, "relu");
  stacked.inputs[0].shape = {2, 3, 30};
  cases.good.push_back(stacked);

  TensorSpec a{DType::float32, {3, 5}}, b{DType::float32, {5, 7}};
  Attrs plain = attributes(false, false);
  cases.bad = {
      {"inner dimensions that differ", plain, {a, {DType::float32, {4, 7}}}},
      {"stacks that differ", plain, {{DType::float32, {2, 3, 5}}, {DType::float32, {3, 5, 7}}}},
      {"a vector", plain, {a, {DType::float32, {5}}}},
      {"dtypes that differ", plain, {a, {DType::bfloat16, {5, 7}}}},
      {"integers", plain, {{DType::int32, {3, 5}}, {DType::int32, {5, 7}}}},
      {"a bias of another length", plain, {a, b, {DType::float32, {8}}}},
      {"one operand", plain, {a}}};
}

}  // namespace stoker::test
