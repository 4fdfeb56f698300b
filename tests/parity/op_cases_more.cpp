// The cases of keras_more_ops.py.
#include <limits>

#include <stoker/attention.h>
#include <stoker/category_layers.h>
#include <stoker/losses.h>

#include "parity/op_cases.h"

namespace stoker::test {

namespace {

Value nan_value() { return Tensor(std::numeric_limits<float>::quiet_NaN()); }
Value endless() { return Tensor(std::numeric_limits<float>::infinity()); }

Value gaps_in(const Value& x) { return ops::where(ops::greater(x, 1.2), nan_value(), x); }
// NaN and both infinities in it.
Value with_holes(const Value& x) {
  Value y = ops::where(ops::less(x, -1.2), -endless(), gaps_in(x));
  return ops::where(ops::less(ops::abs(x), 0.3), endless(), y);
}

// Numbers of `a`, repeated, as a kernel.
Value kernel(const Value& a, const Shape& shape) {
  Value flat = ops::ravel(a);
  int64_t count = shape.elements(), length = flat.shape()[0];
  Value repeated = ops::tile(flat, {(count + length - 1) / length});
  return ops::reshape(ops::slice(repeated, {0}, {count}), shape);
}

Value sequence(const Value& image) { return ops::reshape(image, {2, 16, 9}); }
Value volume(const Value& image) { return ops::reshape(image, {2, 3, 4, 4, 3}); }
Value definite(const Value& a) { return ops::matmul(a, ops::transpose(a, {0, 2, 1})) / 4.0; }

Value some_floats(const std::vector<float>& values) {
  return Tensor::from(values, {int64_t(values.size())});
}

Value some_numbers() { return Tensor::from(std::vector<int64_t>{-3, 5, 12, 1, 0, 7, -20}, {7}); }

Value corners(const std::vector<float>& moves) {
  const std::vector<float> square = {0, 0, 0, 5, 7, 0, 7, 5};
  std::vector<float> moved;
  for (size_t i = 0; i < square.size(); ++i) moved.push_back(square[i] + moves[i]);
  return Tensor::from(moved, {1, 4, 2});
}

Value causal_attention(const Value& image) {
  Value heads = ops::reshape(image, {2, 3, 2, 24});
  auto third = [&](int64_t at) { return ops::slice(heads, {0, 0, 0, at}, {2, 3, 2, 8}); };
  return ops::dot_product_attention(third(0), third(8), third(16), {.is_causal = true});
}

ops::Complex complex_of(const Value& real, const Value& imag) { return {real, imag}; }

OpCases more_elementwise() {
  return {
      {"add", STOKER_TWO("x v", add)},
      {"subtract", STOKER_TWO("x v", subtract)},
      {"multiply", STOKER_TWO("x y", multiply)},
      {"divide", STOKER_TWO("x p", divide)},
      {"true_divide", STOKER_TWO("x p", true_divide)},
      {"negative", STOKER_ONE("x", negative)},
      {"absolute", STOKER_ONE("x", absolute)},
      {"fabs", STOKER_ONE("x", fabs)},
      {"power", STOKER_TWO("p x", power)},
      {"exp", STOKER_ONE("x", exp)},
      {"log", STOKER_ONE("p", log)},
      {"sqrt", STOKER_ONE("p", sqrt)},
      {"sin", STOKER_ONE("x", sin)},
      {"cos", STOKER_ONE("x", cos)},
      {"tanh", STOKER_ONE("x", tanh)},
      {"floor", STOKER_ONE("x", floor)},
      {"maximum", STOKER_TWO("x y", maximum)},
      {"minimum", STOKER_TWO("x y", minimum)},
      {"clip", STOKER_CASE("x", {ops::clip(i[0], -0.7, 1.1)})},
      {"log1p", STOKER_ONE("p", log1p)},
      {"rsqrt", STOKER_ONE("p", rsqrt)},
      {"square", STOKER_ONE("x", square)},
      {"reciprocal", STOKER_ONE("p", reciprocal)},
      {"sign", STOKER_ONE("x", sign)},
      {"erf", STOKER_ONE("x", erf)},
      {"abs", STOKER_ONE("x", abs)},
      {"ldexp", STOKER_CASE("x other", {ops::ldexp(i[0], i[1] - 4)})},
      {"cast", STOKER_CASE("whole", {ops::cast(i[0], DType::float32) / 3.0})},
      {"equal", STOKER_CASE("places", {ops::equal(i[0], 3)})},
      {"not_equal", STOKER_CASE("places", {ops::not_equal(i[0], 3)})},
      {"greater", STOKER_TWO("x y", greater)},
      {"greater_equal", STOKER_TWO("whole other", greater_equal)},
      {"less", STOKER_TWO("x y", less)},
      {"less_equal", STOKER_TWO("whole other", less_equal)},
      {"where", STOKER_CASE("x y p", {ops::where(ops::greater(i[0], i[1]), i[0], i[2])})},
      {"isnan", STOKER_CASE("x", {ops::isnan(with_holes(i[0]))})},
      {"isinf", STOKER_CASE("x", {ops::isinf(with_holes(i[0]))})},
      {"isfinite", STOKER_CASE("x", {ops::isfinite(with_holes(i[0]))})},
      {"isposinf", STOKER_CASE("x", {ops::isposinf(with_holes(i[0]))})},
      {"isneginf", STOKER_CASE("x", {ops::isneginf(with_holes(i[0]))})},
      {"isreal", STOKER_ONE("x", isreal)},
      {"isin", STOKER_CASE("whole", {ops::isin(i[0], some_numbers())})},
      {"allclose", STOKER_CASE("x y", {ops::stack({ops::allclose(i[0], i[1]),
                                                   ops::allclose(i[0], i[0] + 1e-9)})})},
      {"nan_to_num", STOKER_CASE("x", {ops::nan_to_num(with_holes(i[0]),
                                                       {.nan = 0.5, .posinf = 7, .neginf = -8})})},
      {"bitwise_invert", STOKER_ONE("whole", bitwise_invert)},
      {"bitwise_left_shift", STOKER_TWO("whole other", bitwise_left_shift)},
      {"bitwise_right_shift", STOKER_TWO("whole other", bitwise_right_shift)},
      {"saturate_cast", STOKER_CASE("x", {ops::saturate_cast(i[0] * 200.0, DType::uint8)})},
  };
}

OpCases more_arrays() {
  return {
      {"zeros", STOKER_MADE({ops::zeros({2, 3})})},
      {"ones", STOKER_MADE({ops::ones({2, 3})})},
      {"full", STOKER_MADE({ops::full({2, 3}, 2.5)})},
      {"zeros_like", STOKER_CASE("x", {ops::zeros_like(i[0])})},
      {"ones_like", STOKER_CASE("x", {ops::ones_like(i[0])})},
      {"full_like", STOKER_CASE("x", {ops::full_like(i[0], 1.5)})},
      {"arange", STOKER_MADE({ops::arange(1.0, 4.0, 0.75)})},
      {"linspace", STOKER_MADE({ops::linspace(-1, 2, {.num = 7})})},
      {"linspace_open", STOKER_MADE({ops::linspace(-1, 2, {.num = 7, .endpoint = false})})},
      {"logspace", STOKER_MADE({ops::logspace(-1, 2, {.num = 7})})},
      {"geomspace", STOKER_MADE({ops::geomspace(0.5, 40, {.num = 6})})},
      {"eye", STOKER_MADE({ops::eye(3, {.columns = 5})})},
      {"identity", STOKER_MADE({ops::identity(3)})},
      {"tri", STOKER_MADE({ops::tri(4, {.columns = 5, .k = -1})})},
      {"bartlett", STOKER_MADE({ops::bartlett(8)})},
      {"blackman", STOKER_MADE({ops::blackman(8)})},
      {"hamming", STOKER_MADE({ops::hamming(8)})},
      {"hanning", STOKER_MADE({ops::hanning(8)})},
      {"kaiser", STOKER_MADE({ops::kaiser(8, 5)})},
      {"diagflat", STOKER_CASE("rows", {ops::diagflat(ops::slice(i[0], {0, 0}, {1, 5}), 1)})},
      {"fliplr", STOKER_ONE("x", fliplr)},
      {"flipud", STOKER_ONE("x", flipud)},
      {"hsplit", STOKER_CASE("x", ops::hsplit(i[0], 3))},
      {"vsplit", STOKER_CASE("x", ops::vsplit(i[0], 2))},
      {"dsplit", STOKER_CASE("t", ops::dsplit(i[0], 2))},
      {"split", STOKER_CASE("x", ops::split(i[0], 2, 1))},
      {"concatenate", STOKER_CASE("x y", {ops::concatenate({i[0], i[1]}, 1)})},
      {"reshape", STOKER_CASE("x", {ops::reshape(i[0], {3, -1})})},
      {"ravel", STOKER_ONE("t", ravel)},
      {"transpose", STOKER_CASE("t", {ops::transpose(i[0], {2, 0, 1})})},
      {"expand_dims", STOKER_CASE("x", {ops::expand_dims(i[0], 1)})},
      {"squeeze", STOKER_CASE("x", {ops::squeeze(ops::expand_dims(i[0], 1), 1)})},
      {"broadcast_to", STOKER_CASE("v", {ops::broadcast_to(i[0], {3, 6})})},
      {"pad", STOKER_CASE("x", {ops::pad(i[0], {1, 0}, {2, 3}, 1.5)})},
      {"slice", STOKER_CASE("x", {ops::slice(i[0], {1, 2}, {2, 3})})},
      {"get_item", STOKER_CASE("x", {part(i[0], {{.begin = 1, .end = 4, .step = 2},
                                                 {.begin = 0, .end = 6, .step = 3}})})},
      {"one_hot", STOKER_CASE("ids", {ops::one_hot(i[0], 4)})},
      {"segment_min", STOKER_CASE("x ids", {ops::segment_min(i[0], ops::minimum(i[1], 1), 2)})},
      {"segment_prod", STOKER_CASE("x ids", {ops::segment_prod(i[0], ops::minimum(i[1], 1), 2)})},
      {"unravel_index", STOKER_CASE("places", ops::unravel_index(i[0] * 3, {4, 4}))},
      {"select", STOKER_CASE("x y", {ops::select({ops::greater(i[0], 1.0), ops::greater(i[1], 0.0)},
                                                 {i[0] * 2.0, i[1] * i[1]}, -3.0)})},
  };
}

OpCases more_statistics() {
  return {
      {"sum", STOKER_CASE("x", {ops::sum(i[0], {.axes = {1}})})},
      {"mean", STOKER_CASE("x", {ops::mean(i[0], {.axes = {0}})})},
      {"prod", STOKER_CASE("p", {ops::prod(i[0], {.axes = {1}})})},
      {"max", STOKER_CASE("x", {ops::max(i[0], {.axes = {1}})})},
      {"min", STOKER_CASE("x", {ops::min(i[0], {.axes = {0}})})},
      {"amax", STOKER_CASE("x", {ops::amax(i[0], {.axes = {1}})})},
      {"amin", STOKER_CASE("x", {ops::amin(i[0], {.axes = {1}})})},
      {"argmax", STOKER_CASE("x", {ops::argmax(i[0], 1)})},
      {"argpartition",
       STOKER_CASE("whole",
                   {ops::squeeze(part(ops::take_along_axis(i[0], ops::argpartition(i[0], 2), -1),
                                      {{}, {.begin = 2, .end = 3}}),
                                 1)})},
      {"percentile", STOKER_CASE("x", {ops::percentile(i[0], 35, {.axes = {1}})})},
      {"digitize", STOKER_CASE("x", {ops::digitize(i[0], some_floats({-1, 0, 0.5, 1.5}))})},
      {"histogram", STOKER_CASE("x", {ops::histogram(ops::ravel(i[0]), 5, -1.5, 1.5).counts,
                                      ops::histogram(ops::ravel(i[0]), 5, -1.5, 1.5).edges})},
      {"in_top_k", STOKER_CASE("ids x", {ops::in_top_k(i[1], i[0], 3)})},
      {"nansum", STOKER_CASE("x", {ops::nansum(gaps_in(i[0]), {.axes = {1}})})},
      {"nanprod", STOKER_CASE("p", {ops::nanprod(gaps_in(i[0]), {.axes = {1}})})},
      {"nanmax", STOKER_CASE("x", {ops::nanmax(gaps_in(i[0]), {.axes = {1}})})},
      {"nanmin", STOKER_CASE("x", {ops::nanmin(gaps_in(i[0]), {.axes = {1}})})},
      {"nanmean", STOKER_CASE("x", {ops::nanmean(gaps_in(i[0]), {.axes = {1}})})},
      {"nanvar", STOKER_CASE("x", {ops::nanvar(gaps_in(i[0]), {.axes = {1}})})},
      {"nanstd", STOKER_CASE("x", {ops::nanstd(gaps_in(i[0]), {.axes = {1}})})},
      {"nanargmax", STOKER_CASE("x", {ops::nanargmax(gaps_in(i[0]), 1)})},
      {"nanargmin", STOKER_CASE("x", {ops::nanargmin(gaps_in(i[0]), 1)})},
      {"nancumsum", STOKER_CASE("x", {ops::nancumsum(gaps_in(i[0]), 1)})},
      {"nancumprod", STOKER_CASE("x", {ops::nancumprod(gaps_in(i[0]), 1)})},
  };
}

OpCases more_linear() {
  using namespace ops;
  return {
      {"matmul", STOKER_CASE("t b", {matmul(i[0], i[1])})},
      {"cdist", STOKER_CASE("x y", {cdist(i[0], i[1] + 5.0)})},
      {"cholesky_inverse",
       STOKER_CASE("a", {linalg::cholesky_inverse(linalg::cholesky(definite(i[0])))})},
      {"slogdet", STOKER_CASE("a", {linalg::slogdet(i[0]).sign, linalg::slogdet(i[0]).logabsdet})},
      {"logdet", STOKER_CASE("a", {linalg::logdet(definite(i[0]))})},
      {"lu_factor",
       STOKER_CASE(
           "a",
           {linalg::lu_factor(reshape(ops::slice(i[0], {0, 0, 0}, {1, 4, 4}), {4, 4})).lu,
            linalg::lu_factor(reshape(ops::slice(i[0], {0, 0, 0}, {1, 4, 4}), {4, 4})).pivots})},
      {"pinv", STOKER_CASE("b", {linalg::pinv(i[0])})},
      {"matrix_rank", STOKER_CASE("a", {linalg::matrix_rank(i[0])})},
      {"eigh", STOKER_CASE("a", {abs(linalg::eigh(definite(i[0])).vectors)})},
      {"svd", STOKER_CASE("b", {abs(linalg::svd(i[0]).u), abs(linalg::svd(i[0]).s),
                                abs(linalg::svd(i[0]).v)})},
  };
}

OpCases more_loops() {
  using Many = std::vector<std::function<Values()>>;
  return {
      {"cond", STOKER_CASE("x y", {ops::cond(
                                      ops::greater(ops::sum(i[0]), ops::sum(i[1])),
                                      [&] { return i[0] * 2.0; }, [&] { return i[1] * 3.0; })})},
      {"switch", STOKER_CASE("x", ops::switch_(Value(1), Many{[&] { return Values{i[0] * 2.0}; },
                                                              [&] { return Values{i[0] * i[0]}; },
                                                              [&] { return Values{-i[0]}; }}))},
      {"fori_loop", STOKER_CASE("x", ops::fori_loop(1, 4,
                                                    [](const Value& step, const Values& v) {
                                                      return Values{
                                                          v[0] * 0.5 +
                                                          ops::cast(step, DType::float32)};
                                                    },
                                                    {i[0]}))},
      {"while_loop",
       STOKER_CASE("x", {ops::while_loop([](const Values& v) { return ops::less(v[0], 4); },
                                         [](const Values& v) {
                                           return Values{v[0] + 1, v[1] * 1.5};
                                         },
                                         {Value(Tensor(int32_t(0))), i[0]},
                                         {.maximum_iterations = 9})[1]})},
      {"map",
       STOKER_CASE("x", {ops::map([](const Value& row) { return ops::cumsum(row) * 2.0; }, i[0])})},
      {"vectorized_map",
       STOKER_CASE(
           "x", {ops::vectorized_map([](const Value& row) { return row * ops::sum(row); }, i[0])})},
      {"scan",
       {"x",
        [](const Values& i) -> Values {
          auto step = [](const Values& carry, const Values& row) {
            return ops::ScanStep{{carry[0] * 0.5 + row[0]}, {ops::sin(carry[0] + row[0])}};
          };
          ops::ScanResult all = ops::scan(step, {ops::zeros({6})}, {i[0]});
          return {all.carry[0], all.outputs[0]};
        }}},
      {"associative_scan",
       STOKER_CASE("p", ops::associative_scan(
                            [](const Values& a, const Values& b) { return Values{a[0] * b[0]}; },
                            {i[0]}, 1))},
  };
}

OpCases more_networks() {
  using ops::conv, ops::conv_transpose;
  return {
      {"relu", STOKER_ONE("x", relu)},
      {"relu6", STOKER_CASE("x", {ops::relu6(i[0] * 4.0)})},
      {"leaky_relu", STOKER_CASE("x", {ops::leaky_relu(i[0], 0.3)})},
      {"elu", STOKER_CASE("x", {ops::elu(i[0], 0.7)})},
      {"gelu", STOKER_CASE("x", {ops::gelu(i[0], false)})},
      {"silu", STOKER_ONE("x", silu)},
      {"swish", STOKER_ONE("x", swish)},
      {"selu", STOKER_ONE("x", selu)},
      {"sigmoid", STOKER_ONE("x", sigmoid)},
      {"softplus", STOKER_ONE("x", softplus)},
      {"softsign", STOKER_ONE("x", softsign)},
      {"softmax", STOKER_ONE("x", softmax)},
      {"log_softmax", STOKER_CASE("x", {ops::log_softmax(i[0], 0)})},
      {"log_sigmoid", STOKER_ONE("x", log_sigmoid)},
      {"hard_sigmoid", STOKER_ONE("x", hard_sigmoid)},
      {"hard_silu", STOKER_ONE("x", hard_silu)},
      {"hard_swish", STOKER_ONE("x", hard_swish)},
      {"hard_tanh", STOKER_ONE("x", hard_tanh)},
      {"tanh_shrink", STOKER_ONE("x", tanh_shrink)},
      {"conv_1d", STOKER_CASE("image a", {conv(sequence(i[0]), kernel(i[1], {3, 9, 4}),
                                               {.strides = {2}, .padding = "same"})})},
      {"conv_causal_groups", STOKER_CASE("image a", {conv(sequence(i[0]), kernel(i[1], {3, 3, 6}),
                                                          {.dilation_rate = {2}})})},
      {"conv_2d", STOKER_CASE("image a", {conv(i[0], kernel(i[1], {3, 2, 3, 4}),
                                               {.strides = {1, 2}, .padding = "same"})})},
      {"conv_3d", STOKER_CASE("image a", {conv(volume(i[0]), kernel(i[1], {2, 2, 2, 3, 2}))})},
      {"conv_transpose_1d",
       STOKER_CASE("image a", {conv_transpose(sequence(i[0]), kernel(i[1], {3, 4, 9}),
                                              {.strides = {2}, .padding = "same"})})},
      {"conv_transpose_2d", STOKER_CASE("image a", {conv_transpose(i[0], kernel(i[1], {3, 2, 4, 3}),
                                                                   {.strides = {2}})})},
      {"conv_transpose_more",
       STOKER_CASE("image a",
                   {conv_transpose(
                       i[0], kernel(i[1], {3, 3, 4, 3}),
                       {.strides = {2}, .padding = "same", .output_padding = ops::Extents{1}})})},
      {"depthwise_1d",
       STOKER_CASE("image a", {ops::depthwise_conv(sequence(i[0]), kernel(i[1], {3, 9, 2}),
                                                   {.padding = "same"})})},
      {"depthwise_2d",
       STOKER_CASE("image a", {ops::depthwise_conv(i[0], kernel(i[1], {3, 3, 3, 2}),
                                                   {.strides = {2}, .padding = "same"})})},
      {"separable_1d",
       STOKER_CASE("image a b", {ops::separable_conv(sequence(i[0]), kernel(i[1], {3, 9, 2}),
                                                     kernel(i[2], {1, 18, 4}))})},
      {"separable_2d",
       STOKER_CASE("image a b",
                   {ops::separable_conv(i[0], kernel(i[1], {3, 3, 3, 2}),
                                        kernel(i[2], {1, 1, 6, 4}), {.padding = "same"})})},
      {"max_pool_1d", STOKER_CASE("image", {ops::max_pool(sequence(i[0]), {3},
                                                          {.strides = {2}, .padding = "same"})})},
      {"max_pool_2d", STOKER_CASE("image", {ops::max_pool(i[0], {2, 3})})},
      {"max_pool_3d", STOKER_CASE("image", {ops::max_pool(volume(i[0]), {2}, {.strides = {1}})})},
      {"average_pool_1d",
       STOKER_CASE("image", {ops::average_pool(sequence(i[0]), {3}, {.strides = {2}})})},
      {"average_pool_2d",
       STOKER_CASE("image", {ops::average_pool(i[0], {3}, {.strides = {2}, .padding = "same"})})},
      {"average_pool_3d",
       STOKER_CASE("image",
                   {ops::average_pool(volume(i[0]), {2}, {.strides = {1}, .padding = "same"})})},
      {"adaptive_average_pool_1d",
       STOKER_CASE("image", {ops::adaptive_average_pool(sequence(i[0]), {5})})},
      {"adaptive_average_pool_2d",
       STOKER_CASE("image", {ops::adaptive_average_pool(i[0], {4, 3})})},
      {"adaptive_max_pool_2d", STOKER_CASE("image", {ops::adaptive_max_pool(i[0], {4, 3})})},
      {"adaptive_max_pool_3d",
       STOKER_CASE("image", {ops::adaptive_max_pool(volume(i[0]), {2, 3, 3})})},
      {"dot_product_attention", STOKER_CASE("image", {causal_attention(i[0])})},
      {"ctc_loss",
       STOKER_CASE("image",
                   {CTC().per_sample(
                       Value(Tensor::from(std::vector<int64_t>{1, 2, 2, 3, 4, 1, 0, 0}, {2, 4})),
                       sequence(i[0]) * 4.0)})},
  };
}

OpCases more_signals() {
  return {
      {"category_encoding", STOKER_CASE("places", {CategoryEncoding(6)(i[0])})},
      {"category_encoding_count",
       STOKER_CASE("places x", {CategoryEncoding(6, {.output_mode = "count"})(
                                   {i[0], part(i[1], {{}, {.end = 2}})})})},
      {"discretization",
       STOKER_CASE("x", {Discretization({.bin_boundaries = {-1, 0, 0.5}})(i[0])})},
      {"fft2", STOKER_CASE("a", {ops::fft2({i[0], i[0] * i[0]}).real,
                                 ops::fft2({i[0], i[0] * i[0]}).imag})},
      {"conj", STOKER_CASE("x y", {ops::conj({i[0], i[1]}).real, ops::conj({i[0], i[1]}).imag})},
      {"angle", STOKER_CASE("x y", {ops::angle(complex_of(i[0], i[1]))})},
      {"real", STOKER_CASE("x y", {ops::real(complex_of(i[0], i[1]))})},
      {"imag", STOKER_CASE("x y", {ops::imag(complex_of(i[0], i[1]))})},
      {"view_as_complex",
       STOKER_CASE("places x", {ops::view_as_complex(part(i[1], {{}, {.end = 2}})).real})},
      {"unfold", STOKER_CASE("image", {ops::sum(ops::unfold(i[0], {}), {.axes = {2}})})},
      {"fold", STOKER_CASE("image", {ops::fold(ops::unfold(i[0], {}), 6, 8, {})})},
      {"crop_images",
       STOKER_CASE("image", {ops::image::crop_images(
                                i[0], {.top = 1, .left = 2, .bottom = 2, .right = 1})})},
      {"pad_images",
       STOKER_CASE("image",
                   {ops::image::pad_images(i[0], {.top = 1, .left = 2, .bottom = 0, .right = 3})})},
      {"sobel_edges", STOKER_CASE("image", {ops::image::sobel_edges(i[0])})},
      {"ssim",
       STOKER_CASE("image", {ops::image::ssim(i[0], i[0] * 0.8 + 0.1, {.filter_size = 5})})},
      {"perspective_transform",
       STOKER_CASE("image", {ops::image::perspective_transform(
                                ops::slice(i[0], {0, 0, 0, 0}, {1, 6, 8, 3}),
                                corners({0, 0, 0, 0, 0, 0, 0, 0}),
                                corners({0.6F, -0.4F, 1.2F, 0.3F, -0.7F, 0.9F, -0.2F, -0.8F}))})},
      {"scale_and_translate",
       STOKER_CASE("image", {ops::image::scale_and_translate(
                                i[0], {7, 5}, {.scale = {1.3, 0.7}, .translation = {0.4, -0.6}})})},
      {"scale_and_translate_plain",
       STOKER_CASE("image", {ops::image::scale_and_translate(i[0], {4, 9},
                                                             {.scale = {0.6, 1.2},
                                                              .translation = {0, 0.3},
                                                              .method = "cubic",
                                                              .antialias = false})})},
  };
}

}  // namespace

OpCases more_cases() {
  OpCases all;
  for (OpCases part : {more_elementwise(), more_arrays(), more_statistics(), more_linear(),
                       more_loops(), more_networks(), more_signals()})
    all.merge(part);
  return all;
}

}  // namespace stoker::test
