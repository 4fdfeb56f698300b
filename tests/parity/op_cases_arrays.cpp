// Cases of arrays, products and linear algebra.
#include "parity/op_cases.h"

namespace stoker::test {

namespace {

Value spd(const Value& a) { return ops::matmul(a, ops::transpose(a, {0, 2, 1})) / 4.0; }

}  // namespace

OpCases array_cases() {
  return {
      {"stack", STOKER_CASE("x y", {ops::stack({i[0], i[1]}, 1)})},
      {"unstack", STOKER_CASE("x", ops::unstack(i[0], 1))},
      {"flip", STOKER_CASE("x", {ops::flip(i[0], {1})})},
      {"flip_all", STOKER_ONE("t", flip)},
      {"roll", STOKER_CASE("x", {ops::roll(i[0], 2, 1)})},
      {"roll_flat", STOKER_CASE("x", {ops::roll(i[0], -3)})},
      {"rot90", STOKER_CASE("image", {ops::rot90(i[0], 1, 1, 2)})},
      {"rot90_3", STOKER_CASE("x", {ops::rot90(i[0], 3)})},
      {"tile", STOKER_CASE("x", {ops::tile(i[0], {2, 1, 3})})},
      {"repeat", STOKER_CASE("x", {ops::repeat(i[0], 2, 1)})},
      {"repeat_own", STOKER_CASE("x", {ops::repeat(i[0], {1, 0, 2, 1}, 0)})},
      {"moveaxis", STOKER_CASE("t", {ops::moveaxis(i[0], {0, 1}, {2, 0})})},
      {"swapaxes", STOKER_CASE("t", {ops::swapaxes(i[0], 0, 2)})},
      {"hstack", STOKER_CASE("x y", {ops::hstack({i[0], i[1]})})},
      {"vstack", STOKER_CASE("x y", {ops::vstack({i[0], i[1]})})},
      {"dstack", STOKER_CASE("x y", {ops::dstack({i[0], i[1]})})},
      {"append", STOKER_TWO("x v", append)},
      {"split_at", STOKER_CASE("x", ops::split(i[0], {1, 4}, 1))},
      {"array_split", STOKER_CASE("x", ops::array_split(i[0], 4, 1))},
      {"tril", STOKER_CASE("a", {ops::tril(i[0], -1)})},
      {"triu", STOKER_CASE("a", {ops::triu(i[0], 1)})},
      {"diagonal", STOKER_CASE("a", {ops::diagonal(i[0], 1, 1, 2)})},
      {"trace", STOKER_CASE("a", {ops::trace(i[0], 0, 1, 2)})},
      {"diag", STOKER_CASE("v", {ops::diag(i[0], 1)})},
      {"diag_of", STOKER_CASE("x", {ops::diag(i[0], -1)})},
      {"meshgrid", STOKER_CASE("v w", ops::meshgrid({i[0], i[1]}))},
      {"vander", STOKER_CASE("v", {ops::vander(i[0], 4)})},
      {"take", STOKER_CASE("x places", {ops::take(i[0], i[1], 1)})},
      {"take_flat", STOKER_TWO("x places", take)},
      {"take_along_axis", STOKER_CASE("x places", {ops::take_along_axis(i[0], i[1], 1)})},
      {"slice_update",
       STOKER_CASE("x",
                   {ops::slice_update(i[0], {1, 2}, part(i[0], {{.end = 2}, {.end = 3}}) * 3.0)})},
      {"scatter", STOKER_CASE("places x", {ops::scatter(i[0], first_column(i[1]), {6, 6})})},
      {"scatter_update",
       STOKER_CASE(
           "y places x",
           {ops::scatter_update(
               i[0], ops::stack({ops::arange(0, 4, 1, DType::int64), first_column(i[1])}, 1),
               first_column(i[2]))})},
      {"segment_sum", STOKER_CASE("x ids", {ops::segment_sum(i[0], i[1], 3)})},
      {"segment_max", STOKER_CASE("x ids", {ops::segment_max(i[0], ops::minimum(i[1], 1), 2)})},
      {"bincount", STOKER_CASE("places", {ops::bincount(ops::ravel(i[0]), 6)})},
      {"depth_to_space",
       STOKER_CASE("image",
                   {ops::depth_to_space(ops::concatenate({i[0], i[0], i[0], i[0]}, -1), 2)})},
      {"space_to_depth", STOKER_CASE("image", {ops::space_to_depth(i[0], 2)})},
      {"nonzero",
       STOKER_CASE("whole",
                   ops::nonzero(ops::greater(i[0], 12), {.size = 7, .fill_value = -1}))},
      {"nonzero_all", STOKER_CASE("whole", ops::nonzero(ops::greater(i[0], 0)))},
      {"unique",
       {"other",
        [](const Values& i) -> Values {
          ops::Unique found = ops::unique(i[0], {.size = 12, .fill_value = -1});
          return {found.values, found.inverse, found.counts};
        }}},
      {"unique_index",
       {"x",
        [](const Values& i) -> Values {
          ops::Unique found = ops::unique(i[0], {.size = 20});
          return {found.values, found.index};
        }}},
      {"unique_rows",
       {"places",
        [](const Values& i) -> Values {
          ops::Unique found = ops::unique(ops::mod(i[0], 2), {.size = 5, .axis = 0});
          return {found.values, found.inverse, found.counts};
        }}},
      {"unique_columns",
       {"other",
        [](const Values& i) -> Values {
          ops::Unique found = ops::unique(ops::mod(i[0], 2), {.size = 3, .axis = 1});
          return {found.values, found.counts};
        }}},
      {"extract_sequences", STOKER_CASE("signal", {ops::extract_sequences(i[0], 8, 5)})},
      {"rearrange",
       STOKER_CASE("image", {ops::rearrange(i[0], "b (h s) w c -> b h (s c) w", {{"s", 2}})})},
  };
}

OpCases linear_cases() {
  return {
      {"einsum", STOKER_CASE("t b", {ops::einsum("bij,bjk->kbi", {i[0], i[1]})})},
      {"einsum_trace", STOKER_CASE("a", {ops::einsum("bii->b", {i[0]})})},
      {"einsum_three", STOKER_CASE("t b v", {ops::einsum("bij,bjk,m->im", {i[0], i[1], i[2]})})},
      {"einsum_dots", STOKER_CASE("t b", {ops::einsum("...ij,...jk->...ik", {i[0], i[1]})})},
      {"dot", STOKER_TWO("x v", dot)},
      {"inner", STOKER_TWO("x y", inner)},
      {"outer", STOKER_TWO("v w", outer)},
      {"vdot", STOKER_TWO("x y", vdot)},
      {"kron", STOKER_TWO("x rows", kron)},
      {"cross", STOKER_CASE("image", {ops::cross(i[0], ops::flip(i[0], {2}))})},
      {"tensordot", STOKER_CASE("t b", {ops::tensordot(i[0], i[1], {0, 2}, {0, 1})})},
      {"cholesky", STOKER_CASE("a", {ops::linalg::cholesky(spd(i[0]))})},
      {"solve", STOKER_CASE("a b", {ops::linalg::solve(i[0], i[1])})},
      {"inv", STOKER_CASE("a", {ops::linalg::inv(i[0])})},
      {"det", STOKER_CASE("a", {ops::linalg::det(i[0])})},
      {"solve_triangular",
       STOKER_CASE("a b", {ops::linalg::solve_triangular(ops::tril(i[0]), i[1], {.lower = true})})},
      {"qr",
       {"a",
        [](const Values& i) -> Values {
          ops::linalg::Qr found = ops::linalg::qr(i[0]);
          return {found.q, found.r};
        }}},
      {"eigh_values", STOKER_CASE("a", {ops::linalg::eigh(spd(i[0])).values})},
      {"svd_values", STOKER_CASE("b", {ops::linalg::svd(i[0]).s})},
      {"lstsq",
       {"rows",
        [](const Values& i) -> Values {
          Value a = ops::transpose(i[0], {1, 0});
          return {ops::linalg::lstsq(a, part(a, {{}, {.end = 1}}) * 2.0 + 1.0)};
        }}},
  };
}

}  // namespace stoker::test
