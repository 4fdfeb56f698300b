// stoker::ops against keras.ops, values and gradients: keras_ops.py has the same cases.

#include <limits>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_fft.h>
#include <stoker/ops_image.h>
#include <stoker/ops_linalg.h>
#include <stoker/ops_math.h>
#include <stoker/ops_nn.h>
#include <stoker/ops_statistics.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr uint64_t kWeightStream = 100;

// With a dominant diagonal.
Tensor dominant(const Tensor& matrices) {
  std::vector<float> values = matrices.to_vector<float>();
  int64_t n = matrices.shape()[-1];
  for (size_t i = 0; i < values.size(); ++i)
    if (int64_t(i) / n % n == int64_t(i) % n) values[i] += 4;
  return Tensor::from(values, matrices.shape());
}

std::map<std::string, Tensor> named_inputs(uint64_t seed) {
  auto whole = [&](uint64_t stream, const Shape& shape, int64_t below, int64_t from) {
    std::vector<int64_t> values = drawn_integers(seed, stream, shape, below).to_vector<int64_t>();
    for (int64_t& value : values) value += from;
    return Tensor::from(values, shape);
  };
  return {{"x", drawn(seed, 0, {4, 6}, {.limit = 2})},
          {"y", drawn(seed, 1, {4, 6}, {.limit = 2})},
          {"u", drawn(seed, 2, {4, 6}, {.limit = 0.9F})},
          {"p", drawn(seed, 3, {4, 6}, {.limit = 1, .centre = 1.5})},
          {"v", drawn(seed, 4, {6}, {.limit = 2})},
          {"w", drawn(seed, 5, {6}, {.limit = 2})},
          {"a", dominant(drawn(seed, 6, {2, 4, 4}))},
          {"b", drawn(seed, 7, {2, 4, 3})},
          {"t", drawn(seed, 8, {2, 3, 4})},
          {"image", drawn(seed, 9, {2, 6, 8, 3}, {.limit = 0.5, .centre = 0.5})},
          {"signal", drawn(seed, 10, {2, 40})},
          {"rows", drawn(seed, 11, {3, 5})},
          {"ids", whole(20, {4}, 3, 0)},
          {"places", whole(21, {4, 2}, 6, 0)},
          {"whole", whole(22, {4, 6}, 50, -25)},
          {"other", whole(23, {4, 6}, 9, 1)}};
}

struct Case {
  std::string inputs;
  std::function<Values(const Values&)> run;
};

Value spd(const Value& a) { return ops::matmul(a, ops::transpose(a, {0, 2, 1})) / 4.0; }

Value part(const Value& x, std::vector<ops::Slicing> axes) { return ops::get_item(x, axes); }

ops::Complex halves(const Value& signal) {
  return {part(signal, {{}, {.end = 20}}), part(signal, {{}, {.begin = 20}})};
}

Values both(const ops::Complex& z) { return {z.real, z.imag}; }

Value first_column(const Value& x) { return ops::squeeze(part(x, {{}, {.end = 1}}), 1); }

constexpr ops::Stft kStft{.sequence_length = 12, .sequence_stride = 5, .fft_length = 16};

Value matrix(std::vector<float> numbers) { return Tensor::from(numbers, {8}); }

// One function of one Value, or of two.
#define STOKER_ONE(inputs, call)                                        \
  {                                                                     \
    inputs, [](const Values& i) -> Values { return {ops::call(i[0])}; } \
  }
#define STOKER_TWO(inputs, call)                                              \
  {                                                                           \
    inputs, [](const Values& i) -> Values { return {ops::call(i[0], i[1])}; } \
  }
#define STOKER_CASE(inputs, ...)                                  \
  {                                                               \
    inputs, [](const Values& i) -> Values { return __VA_ARGS__; } \
  }

std::map<std::string, Case> elementwise_cases() {
  return {
      {"expm1", STOKER_ONE("x", expm1)},
      {"exp2", STOKER_ONE("x", exp2)},
      {"log2", STOKER_ONE("p", log2)},
      {"log10", STOKER_ONE("p", log10)},
      {"tan", STOKER_ONE("u", tan)},
      {"arcsin", STOKER_ONE("u", arcsin)},
      {"arccos", STOKER_ONE("u", arccos)},
      {"arctan", STOKER_ONE("x", arctan)},
      {"arctan2", STOKER_TWO("x y", arctan2)},
      {"sinh", STOKER_ONE("x", sinh)},
      {"cosh", STOKER_ONE("x", cosh)},
      {"arcsinh", STOKER_ONE("x", arcsinh)},
      {"arccosh", STOKER_CASE("p", {ops::arccosh(i[0] + 1.0)})},
      {"arctanh", STOKER_ONE("u", arctanh)},
      {"erfinv", STOKER_ONE("u", erfinv)},
      {"erfc", STOKER_ONE("x", erfc)},
      {"logaddexp", STOKER_TWO("x y", logaddexp)},
      {"logaddexp2", STOKER_TWO("x y", logaddexp2)},
      {"hypot", STOKER_TWO("x y", hypot)},
      {"cbrt", STOKER_ONE("p", cbrt)},
      {"sinc", STOKER_ONE("x", sinc)},
      {"ceil", STOKER_ONE("x", ceil)},
      {"round", STOKER_ONE("x", round)},
      {"round_2", STOKER_CASE("x", {ops::round(i[0], 2)})},
      {"trunc", STOKER_ONE("x", trunc)},
      {"mod", STOKER_TWO("x p", mod)},
      {"floor_divide", STOKER_TWO("x p", floor_divide)},
      {"fmod", STOKER_TWO("x p", fmod)},
      {"mod_whole", STOKER_TWO("whole other", mod)},
      {"floor_divide_whole", STOKER_TWO("whole other", floor_divide)},
      {"divide_no_nan",
       STOKER_CASE("x y", {ops::divide_no_nan(i[0], ops::where(ops::greater(i[1], 0), i[1], 0))})},
      {"deg2rad", STOKER_ONE("x", deg2rad)},
      {"rad2deg", STOKER_ONE("x", rad2deg)},
      {"heaviside", STOKER_CASE("x", {ops::heaviside(i[0], 0.5)})},
      {"fmax", STOKER_TWO("x y", fmax)},
      {"fmin", STOKER_TWO("x y", fmin)},
      {"signbit", STOKER_ONE("x", signbit)},
      {"i0", STOKER_ONE("x", i0)},
      {"bitwise_and", STOKER_TWO("whole other", bitwise_and)},
      {"bitwise_or", STOKER_TWO("whole other", bitwise_or)},
      {"bitwise_xor", STOKER_TWO("whole other", bitwise_xor)},
      {"bitwise_not", STOKER_ONE("whole", bitwise_not)},
      {"left_shift", STOKER_TWO("whole other", left_shift)},
      {"right_shift", STOKER_TWO("whole other", right_shift)},
      {"logical_and",
       STOKER_CASE("x y", {ops::logical_and(ops::greater(i[0], 0), ops::greater(i[1], 0))})},
      {"logical_or",
       STOKER_CASE("x y", {ops::logical_or(ops::greater(i[0], 0), ops::greater(i[1], 0))})},
      {"logical_xor",
       STOKER_CASE("x y", {ops::logical_xor(ops::greater(i[0], 0), ops::greater(i[1], 0))})},
      {"logical_not", STOKER_CASE("x", {ops::logical_not(ops::greater(i[0], 0))})},
      {"isclose", STOKER_CASE("x y", {ops::isclose(i[0], i[1], {.rtol = 0.5})})},
  };
}

std::map<std::string, Case> array_cases() {
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
      {"extract_sequences", STOKER_CASE("signal", {ops::extract_sequences(i[0], 8, 5)})},
      {"rearrange",
       STOKER_CASE("image", {ops::rearrange(i[0], "b (h s) w c -> b h (s c) w", {{"s", 2}})})},
  };
}

std::map<std::string, Case> statistics_cases() {
  return {
      {"sort", STOKER_CASE("x", {ops::sort(i[0], 0)})},
      {"argsort", STOKER_ONE("x", argsort)},
      {"argmin", STOKER_CASE("x", {ops::argmin(i[0], 1)})},
      {"top_k",
       {"x",
        [](const Values& i) -> Values {
          ops::TopK found = ops::top_k(i[0], 3);
          return {found.values, found.indices};
        }}},
      {"median", STOKER_CASE("x", {ops::median(i[0], {.axes = {1}})})},
      {"quantile",
       STOKER_CASE("x", {ops::quantile(i[0], std::vector<double>{0.1, 0.75}, {.axes = {0}})})},
      {"cumsum", STOKER_CASE("x", {ops::cumsum(i[0], 0)})},
      {"cumprod", STOKER_CASE("x", {ops::cumprod(i[0], 1)})},
      {"diff", STOKER_CASE("x", {ops::diff(i[0], 2, 1)})},
      {"searchsorted", STOKER_CASE("v w", {ops::searchsorted(ops::sort(i[0]), i[1])})},
      {"trapezoid", STOKER_ONE("x", trapezoid)},
      {"any", STOKER_CASE("x", {ops::any(ops::greater(i[0], 1.5), {.axes = {1}})})},
      {"all", STOKER_CASE("x", {ops::all(ops::greater(i[0], -1.5), {.axes = {1}})})},
      {"ptp", STOKER_CASE("x", {ops::ptp(i[0], {.axes = {1}})})},
      {"count_nonzero", STOKER_ONE("ids", count_nonzero)},
      {"var", STOKER_CASE("x", {ops::var(i[0], {.axes = {1}})})},
      {"std", STOKER_CASE("x", {ops::std(i[0], {.axes = {0}, .keepdims = true})})},
      {"average", STOKER_CASE("x p", {ops::average(i[0], i[1], {.axes = {1}})})},
      {"logsumexp", STOKER_CASE("x", {ops::logsumexp(i[0], {.axes = {1}})})},
      {"norm", STOKER_CASE("x", {ops::norm(i[0], {.axes = {1}})})},
      {"norm_1", STOKER_CASE("x", {ops::linalg::norm(i[0], {.ord = "1", .axes = {1}})})},
      {"norm_nuc", STOKER_CASE("a", {ops::linalg::norm(i[0], {.ord = "nuc", .axes = {1, 2}})})},
      {"norm_inf", STOKER_CASE("a", {ops::linalg::norm(i[0], {.ord = "inf", .axes = {1, 2}})})},
      {"moments",
       {"x",
        [](const Values& i) -> Values {
          ops::Moments found = ops::moments(i[0], {.axes = {0}});
          return {found.mean, found.variance};
        }}},
      {"corrcoef", STOKER_ONE("rows", corrcoef)},
      {"correlate",
       STOKER_CASE("signal v", {ops::correlate(ops::squeeze(part(i[0], {{.end = 1}}), 0), i[1],
                                               "same")})},
  };
}

std::map<std::string, Case> linear_cases() {
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

std::map<std::string, Case> nn_cases() {
  return {
      {"glu", STOKER_ONE("x", glu)},
      {"sparse_plus", STOKER_ONE("x", sparse_plus)},
      {"sparse_sigmoid", STOKER_ONE("x", sparse_sigmoid)},
      {"celu", STOKER_CASE("x", {ops::celu(i[0], 0.7)})},
      {"squareplus", STOKER_CASE("x", {ops::squareplus(i[0], 2)})},
      {"threshold", STOKER_CASE("x", {ops::threshold(i[0], 0.3, -1)})},
      {"hard_shrink", STOKER_CASE("x", {ops::hard_shrink(i[0], 0.8)})},
      {"soft_shrink", STOKER_CASE("x", {ops::soft_shrink(i[0], 0.8)})},
      {"normalize", STOKER_CASE("x", {ops::normalize(i[0], {.axis = 0})})},
      {"normalize_3", STOKER_CASE("x", {ops::normalize(i[0], {.order = 3})})},
      {"layer_normalization",
       STOKER_CASE("x v", {ops::layer_normalization(i[0], {.gamma = i[1]})})},
      {"rms_normalization", STOKER_CASE("x v", {ops::rms_normalization(i[0], {.scale = i[1]})})},
      {"batch_normalization",
       STOKER_CASE("x v w", {ops::batch_normalization(i[0], i[1], i[2] * i[2], {.scale = i[2]})})},
      {"binary_crossentropy",
       STOKER_CASE("p", {ops::binary_crossentropy(ops::greater(i[0], 1.2), i[0] / 3.0)})},
      {"categorical_crossentropy",
       STOKER_CASE("p x", {ops::categorical_crossentropy(i[0], i[0] * 2.0 + i[1] * i[1])})},
      {"sparse_categorical_crossentropy", STOKER_TWO("ids p", sparse_categorical_crossentropy)},
      {"multi_hot", STOKER_CASE("places", {ops::multi_hot(i[0], 6)})},
      {"psnr", STOKER_CASE("x y", {ops::psnr(i[0], i[1], 4)})},
  };
}

std::map<std::string, Case> signal_cases() {
  namespace im = ops::image;
  return {
      {"fft", STOKER_CASE("signal", both(ops::fft(halves(i[0]))))},
      {"ifft2", STOKER_CASE("a", both(ops::ifft2({i[0], i[0] * i[0]})))},
      {"rfft", STOKER_CASE("signal", both(ops::rfft(i[0], 48)))},
      {"irfft", STOKER_CASE("signal", {ops::irfft(halves(i[0]))})},
      {"stft", STOKER_CASE("signal", both(ops::stft(i[0], kStft)))},
      {"resize_bilinear", STOKER_CASE("image", {im::resize(i[0], {9, 5})})},
      {"resize_nearest",
       STOKER_CASE("image", {im::resize(i[0], {9, 5}, {.interpolation = "nearest"})})},
      {"resize_bicubic",
       STOKER_CASE("image",
                   {im::resize(i[0], {3, 4}, {.interpolation = "bicubic", .antialias = true})})},
      {"resize_lanczos3",
       STOKER_CASE("image", {im::resize(i[0], {9, 5}, {.interpolation = "lanczos3"})})},
      {"resize_antialias", STOKER_CASE("image", {im::resize(i[0], {3, 4}, {.antialias = true})})},
      {"resize_crop",
       STOKER_CASE("image", {im::resize(i[0], {6, 4}, {.crop_to_aspect_ratio = true})})},
      {"affine_transform",
       STOKER_CASE("image", {im::affine_transform(
                                i[0], matrix({0.9F, 0.2F, 0.3F, -0.1F, 1.1F, 0.2F, 0, 0}))})},
      {"affine_reflect",
       STOKER_CASE("image", {im::affine_transform(
                                i[0], matrix({1.4F, 0.2F, -2.3F, -0.1F, 1.3F, -1.2F, 0, 0}),
                                {.fill_mode = "reflect"})})},
      {"map_coordinates",
       {"x u",
        [](const Values& i) -> Values {
          Value row = ops::squeeze(part(i[1], {{.end = 1}}), 0);
          Value column = ops::squeeze(part(i[1], {{.begin = 1, .end = 2}}), 0);
          return {im::map_coordinates(i[0], ops::stack({row * 2.0 + 1.5, column * 4.0 + 2.5}))};
        }}},
      {"extract_patches",
       STOKER_CASE("image",
                   {im::extract_patches(i[0], {2, 3}, {.strides = {2, 2}, .padding = "same"})})},
      {"rgb_to_grayscale", STOKER_CASE("image", {im::rgb_to_grayscale(i[0])})},
      {"rgb_to_hsv", STOKER_CASE("image", {im::rgb_to_hsv(i[0])})},
      {"hsv_to_rgb", STOKER_CASE("image", {im::hsv_to_rgb(i[0])})},
      {"gaussian_blur", STOKER_CASE("image", {im::gaussian_blur(i[0])})},
  };
}

class Ops : public DeviceTest {
 protected:
  // The values of a case, and the gradients by its float inputs that are recorded.
  void expect_as_keras(const std::string& name, const Case& each) {
    SCOPED_TRACE(name);
    std::vector<std::string> names;
    std::vector<Tensor> inputs;
    std::istringstream words(each.inputs);
    for (std::string word; words >> word;) {
      names.push_back(word);
      inputs.push_back(inputs_.at(word));
    }
    std::vector<std::string> recorded;
    std::vector<Tensor> outputs = run_once(device(), inputs, [&](const Values& traced) {
      recorded.clear();
      Values results = each.run(traced), all;
      Value loss;
      for (size_t i = 0; i < results.size(); ++i) {
        recorded.push_back(name + "/value/" + std::to_string(i));
        all.push_back(ops::cast(results[i], DType::float32));
        if (!is_floating(results[i].dtype())) continue;
        Value weights = drawn(recording_.seed(), kWeightStream + i, results[i].shape());
        Value term = ops::sum(results[i] * weights);
        loss = loss.defined() ? loss + term : term;
      }
      for (size_t i = 0; i < names.size(); ++i) {
        std::string gradient = name + "/gradient/" + names[i];
        if (!recording_.has(gradient)) continue;
        recorded.push_back(gradient);
        all.push_back(gradients(loss, {traced[i]})[0]);
      }
      return all;
    });
    ASSERT_EQ(outputs.size(), recorded.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_TRUE(agrees(outputs[i], recording_.expected(recorded[i])));
    ++cases_;
  }

  void expect_all(const std::map<std::string, Case>& table, size_t count) {
    for (const auto& [name, each] : table) expect_as_keras(name, each);
    EXPECT_EQ(cases_, count);
  }

  Recording recording_{"ops"};
  std::map<std::string, Tensor> inputs_ = named_inputs(recording_.seed());
  size_t cases_ = 0;
};

TEST_P(Ops, OfElementsAreKeras) { expect_all(elementwise_cases(), 49); }
TEST_P(Ops, OfArraysAreKeras) { expect_all(array_cases(), 40); }
TEST_P(Ops, OfStatisticsAreKeras) { expect_all(statistics_cases(), 26); }
TEST_P(Ops, OfLinearAlgebraAreKeras) { expect_all(linear_cases(), 20); }
TEST_P(Ops, OfNetworksAreKeras) { expect_all(nn_cases(), 18); }
TEST_P(Ops, OfSignalsAndImagesAreKeras) { expect_all(signal_cases(), 19); }

TEST_P(Ops, AreAllThatTheFileHolds) {
  std::set<std::string> tested, held;
  for (const auto& table : {elementwise_cases(), array_cases(), statistics_cases(), linear_cases(),
                            nn_cases(), signal_cases()})
    for (const auto& [name, each] : table) tested.insert(name);
  for (const std::string& name : recording_.names(""))
    if (name.find("/value/") != std::string::npos && !name.starts_with("noise/"))
      held.insert(name.substr(0, name.find('/')));
  EXPECT_EQ(tested, held);
}

INSTANTIATE_TEST_SUITE_P(Parity, Ops, kDevices, device_name);

}  // namespace
}  // namespace stoker
