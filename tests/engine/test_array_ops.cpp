// What the functions of stoker/ops_*.h promise beside Keras's values (tests/parity/test_ops.cpp), on
// every engine: what is not a number, what lies outside, loops, and errors.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_fft.h>
#include <stoker/ops_image.h>
#include <stoker/ops_linalg.h>
#include <stoker/ops_loops.h>
#include <stoker/ops_math.h>
#include <stoker/ops_nn.h>
#include <stoker/ops_statistics.h>

#include "engine/device_test.h"
#include "engine/run_graph.h"

namespace stoker::test {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class ArrayOps : public DeviceTest {
 protected:
  // The elements of what `body` makes of the inputs.
  std::vector<double> run(const std::vector<Tensor>& inputs,
                          const std::function<Value(const Values&)>& body) {
    return run_tensor(inputs, body).to_vector<double>();
  }
  Tensor run_tensor(const std::vector<Tensor>& inputs,
                    const std::function<Value(const Values&)>& body) {
    Graph graph;
    Graph::Scope scope(graph, "test");
    Values values;
    for (const Tensor& input : inputs) values.push_back(graph.input("x", input.spec()));
    graph.output(ops::cast(body(values), DType::float32), "y");
    return run_graph(graph, inputs, device())[0];
  }
  template <class E = ShapeError>
  static std::string error_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const E& error) {
      return error.what();
    }
    return "no error";
  }
};

Tensor floats(std::vector<float> values) { return Tensor::from(values, {int64_t(values.size())}); }
Tensor whole(std::vector<int32_t> values) { return Tensor::from(values, {int64_t(values.size())}); }

// --- order ---

TEST_P(ArrayOps, SortPutsNanLastAndKeepsTheOrderOfEquals) {
  Tensor x = floats({3, kNan, -kInfinity, 1, 3, -0.0F, 0});
  EXPECT_THAT(run({x}, [](const Values& i) { return ops::argsort(i[0]); }),
              ElementsAre(2, 5, 6, 3, 0, 4, 1));
  EXPECT_THAT(run({x}, [](const Values& i) { return ops::top_k(i[0], 3).indices; }),
              ElementsAre(1, 0, 4));
}

TEST_P(ArrayOps, AQuantileOfNanIsNan) {
  Tensor x = floats({1, kNan, 2});
  EXPECT_TRUE(std::isnan(run({x}, [](const Values& i) { return ops::median(i[0]); })[0]));
  EXPECT_EQ(run({x}, [](const Values& i) { return ops::nanmax(i[0]); })[0], 2);
}

TEST_P(ArrayOps, ArgminOfIntegersHasNoOverflow) {
  Tensor x = whole({5, INT32_MIN, INT32_MAX});
  EXPECT_THAT(run({x}, [](const Values& i) { return ops::argmin(i[0]); }), ElementsAre(1));
}

TEST_P(ArrayOps, ARunningProductHasAGradientBesideAZero) {
  Tensor x = floats({2, 0, 3});
  auto slope = [](const Values& i) { return gradients(ops::sum(ops::cumprod(i[0])), {i[0]})[0]; };
  EXPECT_THAT(run({x}, slope), ElementsAre(1, 8, 0));
}

TEST_P(ArrayOps, ALinearRecurrenceDiscountsReturns) {
  Tensor rewards = floats({1, 0, 2});
  auto returns = [](const Values& i) {
    return ops::linear_recurrence(i[0], 0.5, {.reverse = true});
  };
  EXPECT_THAT(run({rewards}, returns), ElementsAre(1.5, 1, 2));
}

// --- indices ---

TEST_P(ArrayOps, NegativeIndicesCountFromTheEnd) {
  Tensor x = floats({10, 11, 12}), at = whole({-1, 0, -3});
  EXPECT_THAT(run({x, at}, [](const Values& i) { return ops::take(i[0], i[1], 0); }),
              ElementsAre(12, 10, 10));
  EXPECT_THAT(run({x, at}, [](const Values& i) { return ops::take_along_axis(i[0], i[1], 0); }),
              ElementsAre(12, 10, 10));
}

TEST_P(ArrayOps, ScatterUpdateKeepsTheLastAndLeavesOutWhatLiesOutside) {
  Tensor x = floats({1, 2, 3, 4}), at = Tensor::from<int32_t>({1, 3, 1, 7, -1}, {5, 1}),
         news = floats({10, 20, 30, 40, 50});
  EXPECT_THAT(
      run({x, at, news}, [](const Values& i) { return ops::scatter_update(i[0], i[1], i[2]); }),
      ElementsAre(1, 30, 3, 20));
  EXPECT_THAT(run({at, news}, [](const Values& i) { return ops::scatter(i[0], i[1], {4}); }),
              ElementsAre(0, 40, 0, 20));
}

TEST_P(ArrayOps, SegmentsLeaveOutIdsThatLieOutside) {
  Tensor x = floats({1, 2, 3, 4}), ids = whole({0, 2, 0, 9});
  EXPECT_THAT(run({x, ids}, [](const Values& i) { return ops::segment_sum(i[0], i[1], 3); }),
              ElementsAre(4, 0, 2));
  EXPECT_THAT(run({x, ids}, [](const Values& i) { return ops::segment_max(i[0], i[1], 3); }),
              ElementsAre(3, -kInfinity, 2));
  EXPECT_THAT(run({x, ids}, [](const Values& i) { return ops::segment_prod(i[0], i[1], 3); }),
              ElementsAre(3, 1, 2));
}

TEST_P(ArrayOps, ASliceOfValuesMovesInside) {
  Tensor x = floats({0, 1, 2, 3, 4}), start = whole({4});
  EXPECT_THAT(run({x, start}, [](const Values& i) { return ops::dynamic_slice(i[0], i[1], {2}); }),
              ElementsAre(3, 4));
  auto replaced = [](const Values& i) {
    return ops::slice_update(i[0], i[1], Value(floats({8, 9})));
  };
  EXPECT_THAT(run({x, start}, replaced), ElementsAre(0, 1, 2, 8, 9));
}

TEST_P(ArrayOps, BincountCountsEveryRowAlone) {
  Tensor x = Tensor::from<int32_t>({0, 1, 1, 2, 2, 9}, {2, 3});
  EXPECT_THAT(run({x}, [](const Values& i) { return ops::bincount(i[0], 3); }),
              ElementsAre(1, 2, 0, 0, 0, 2));
}

TEST_P(ArrayOps, SlicesStepAsPythonsDo) {
  Tensor x = floats({0, 1, 2, 3, 4, 5});
  auto sliced = [&](const ops::Slicing& cut) {
    return run({x}, [&](const Values& i) { return ops::get_item(i[0], {cut}); });
  };
  EXPECT_THAT(sliced({.step = -2}), ElementsAre(5, 3, 1));
  EXPECT_THAT(sliced({.begin = -3, .end = -1}), ElementsAre(3, 4));
  EXPECT_THAT(sliced({.begin = 1, .end = 99, .step = 3}), ElementsAre(1, 4));
}

TEST_P(ArrayOps, CreationNeedsNoInput) {
  EXPECT_THAT(run({}, [](const Values&) { return ops::arange(2, 8, 3) + 0; }), ElementsAre(2, 5));
  EXPECT_THAT(run({}, [](const Values&) { return ops::eye(2, {.columns = 3, .k = 1}) * 2.0; }),
              ElementsAre(0, 2, 0, 0, 0, 2));
  EXPECT_THAT(run({floats({kNan, 1})}, [](const Values& i) { return ops::zeros_like(i[0]); }),
              ElementsAre(0, 0));
}

// --- elements ---

TEST_P(ArrayOps, WhatIsNotFiniteIsFound) {
  Tensor x = floats({1, kNan, kInfinity, -kInfinity});
  EXPECT_THAT(run({x}, [](const Values& i) { return ops::isnan(i[0]); }), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(run({x}, [](const Values& i) { return ops::isinf(i[0]); }), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(run({x}, [](const Values& i) { return ops::isfinite(i[0]); }),
              ElementsAre(1, 0, 0, 0));
  auto repaired = [](const Values& i) {
    return ops::nan_to_num(i[0], {.nan = -1, .posinf = 5, .neginf = -5});
  };
  EXPECT_THAT(run({x}, repaired), ElementsAre(1, -1, 5, -5));
}

TEST_P(ArrayOps, AnAngleHasTheQuadrantOfItsSigns) {
  Tensor y = floats({0, 0.0F, -0.0F, 1, -1, kInfinity}), x = floats({1, -1, -1, 0, 0, kInfinity});
  std::vector<double> angles =
      run({y, x}, [](const Values& i) { return ops::arctan2(i[0], i[1]); });
  std::vector<double> right = {0, M_PI, -M_PI, M_PI / 2, -M_PI / 2, M_PI / 4};
  for (size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(angles[i], right[i], 1e-6) << i;
}

TEST_P(ArrayOps, TailsKeepTheirDigits) {
  double tail = run({floats({8})}, [](const Values& i) { return ops::erfc(i[0]); })[0];
  EXPECT_NEAR(tail / std::erfc(8.0), 1, 1e-5);
  double far = run({floats({1e20F})}, [](const Values& i) { return ops::arcsinh(i[0]); })[0];
  EXPECT_NEAR(far, std::asinh(1e20), 1e-4);
}

TEST_P(ArrayOps, IntegersDivideDownAndShift) {
  Tensor a = whole({-7, 7, INT32_MIN}), b = whole({2, -2, -1});
  EXPECT_THAT(run({a, b}, [](const Values& i) { return ops::floor_divide(i[0], i[1]); }),
              ElementsAre(-4, -4, double(INT32_MIN)));
  EXPECT_THAT(run({a, b}, [](const Values& i) { return ops::mod(i[0], i[1]); }),
              ElementsAre(1, -1, 0));
  EXPECT_THAT(run({a}, [](const Values& i) { return ops::right_shift(i[0], 1); }),
              ElementsAre(-4, 3, double(INT32_MIN / 2)));
}

// --- loops ---

TEST_P(ArrayOps, ALoopCountsAndOneWithAConditionStops) {
  Tensor x = floats({1});
  auto factorial = [](const Values& i) {
    return ops::fori_loop(
        1, 6, [](const Value& n, const Values& v) -> Values { return {v[0] * n}; }, {i[0]})[0];
  };
  EXPECT_THAT(run({x}, factorial), ElementsAre(120));
  auto doubled = [](const Values& i) {
    return ops::while_loop([](const Values& v) { return ops::less(ops::sum(v[0]), 100); },
                           [](const Values& v) -> Values { return {v[0] * 2.0}; }, {i[0]},
                           {.maximum_iterations = 30})[0];
  };
  EXPECT_THAT(run({x}, doubled), ElementsAre(128));
  EXPECT_THAT(error_of<ValueError>([&] {
                run({x}, [](const Values& i) {
                  return ops::while_loop([](const Values& v) { return ops::less(v[0], 1); },
                                         [](const Values& v) { return v; }, {i[0]}, {})[0];
                });
              }),
              HasSubstr("maximum_iterations"));
}

TEST_P(ArrayOps, BranchesAndMapsHaveGradients) {
  Tensor x = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  auto mapped = [](const Values& i) {
    Value y = ops::map([](const Value& row) { return ops::sum(ops::square(row)); }, i[0]);
    Value picked = ops::cond(
        ops::greater(ops::sum(i[0]), 0), [&] { return y * 2.0; }, [&] { return y; });
    return gradients(ops::sum(picked), {i[0]})[0];
  };
  EXPECT_THAT(run({x}, mapped), ElementsAre(4, 8, 12, 16));
}

TEST_P(ArrayOps, AnAssociativeScanIsARunningSum) {
  for (int n : {1, 2, 5, 8, 13}) {
    std::vector<float> values(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) values[size_t(i)] = float(i * i - 3);
    Tensor x = floats(values);
    auto scanned = [](const Values& i) {
      auto add = [](const Values& a, const Values& b) -> Values { return {a[0] + b[0]}; };
      return ops::associative_scan(add, {i[0]})[0];
    };
    EXPECT_EQ(run({x}, scanned), run({x}, [](const Values& i) { return ops::cumsum(i[0]); })) << n;
  }
}

// --- transforms ---

TEST_P(ArrayOps, ATransformGoesBackForAnyLength) {
  for (int n : {1, 7, 64, 97, 120, 210}) {
    std::vector<float> values(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) values[size_t(i)] = std::sin(float(i * i));
    Tensor x = floats(values);
    std::vector<double> back = run({x}, [](const Values& i) {
      return ops::ifft(ops::fft({i[0], ops::zeros_like(i[0])})).real;
    });
    for (int i = 0; i < n; ++i) EXPECT_NEAR(back[size_t(i)], values[size_t(i)], 1e-5) << n;
  }
}

TEST_P(ArrayOps, AShortTimeTransformGoesBackToTheSignal) {
  std::vector<float> values(60);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(float(i * i));
  for (const char* window : {"hann", "hamming", "none"}) {
    ops::Stft options{
        .sequence_length = 12, .sequence_stride = 4, .fft_length = 16, .window = window};
    std::vector<double> back = run({floats(values)}, [&](const Values& i) {
      return ops::istft(ops::stft(i[0], options), options);
    });
    ASSERT_EQ(back.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(back[i], values[i], 1e-5) << window;
  }
}

TEST_P(ArrayOps, SparsemaxIsTheNearestPointOfTheSimplex) {
  EXPECT_THAT(run({floats({1, 0.5, -1})}, [](const Values& i) { return ops::sparsemax(i[0]); }),
              ElementsAre(0.75, 0.25, 0));
}

TEST_P(ArrayOps, MatricesComeBackFromTheirFactors) {
  Tensor a = Tensor::from<float>({4, 1, 0.5F, 1, 3, -1, 0.5F, -1, 2, 1, 2, 3}, {4, 3});
  auto difference = [&](const std::function<Value(const Value&)>& rebuilt) {
    return run({a}, [&](const Values& i) { return ops::max(ops::abs(rebuilt(i[0]) - i[0])); })[0];
  };
  EXPECT_LT(difference([](const Value& x) {
              auto [q, r] = ops::linalg::qr(x);
              return ops::matmul(q, r);
            }),
            1e-5);
  EXPECT_LT(difference([](const Value& x) {
              auto [u, s, v] = ops::linalg::svd(x);
              return ops::matmul(u * s, v);
            }),
            1e-5);
  EXPECT_THAT(run({a}, [](const Values& i) { return ops::linalg::matrix_rank(i[0]); }),
              ElementsAre(3));
}

TEST_P(ArrayOps, AMatrixThatIsNotPositiveHasNoCholeskyFactor) {
  Tensor a = Tensor::from<float>({1, 2, 2, 1}, {2, 2});
  EXPECT_TRUE(std::isnan(run({a}, [](const Values& i) { return ops::linalg::cholesky(i[0]); })[3]));
}

TEST_P(ArrayOps, PicturesOfBytesStayBytes) {
  Tensor x = Tensor::from<uint8_t>({0, 100, 200, 255}, {2, 2, 1});
  auto resized = [](const Values& i) {
    Value y = ops::image::resize(i[0], {2, 4});
    EXPECT_EQ(y.dtype(), DType::uint8);
    return y;
  };
  EXPECT_THAT(run({x}, resized), ElementsAre(0, 25, 75, 100, 200, 214, 241, 255));
}

// --- errors ---

TEST_P(ArrayOps, ErrorsSayWhatWasGotAndExpected) {
  Graph graph;
  Graph::Scope scope(graph, "test");
  Value x = graph.input("x", {DType::float32, {2, 3}});
  EXPECT_THAT(error_of([&] { ops::stack({x, ops::ravel(x)}); }), HasSubstr("[2, 3] and [6]"));
  EXPECT_THAT(error_of([&] { ops::take(x, x, 0); }), HasSubstr("expected integers for indices"));
  EXPECT_THAT(error_of([&] { ops::einsum("ij,jk->ik", {x, x}); }), HasSubstr("einsum"));
  EXPECT_THAT(error_of<ValueError>([&] { ops::einsum("ij->iz", {x}); }), HasSubstr("\"z\""));
  EXPECT_THAT(error_of([&] { ops::top_k(x, 4); }), HasSubstr("from 1 to the 3 elements"));
  EXPECT_THAT(error_of([&] { ops::linalg::inv(x); }), HasSubstr("square"));
  EXPECT_THAT(error_of([&] { ops::bitwise_and(x, 1); }), HasSubstr("expected integers"));
  EXPECT_THAT(error_of([&] {
                ops::scatter(Tensor::from<int32_t>({0}, {1, 1}), x, {4});
              }),
              HasSubstr("expected values [1]"));
  EXPECT_THAT(error_of<ValueError>([&] { ops::rearrange(x, "a (b -> a b"); }),
              HasSubstr("rearrange"));
  EXPECT_THAT(error_of<ValueError>([&] { ops::quantile(x, 1.5); }), HasSubstr("[0, 1], got 1.5"));
  EXPECT_THAT(error_of([&] { ops::image::resize(x, {2, 2}); }), HasSubstr("[H, W, C], got [2, 3]"));
}

INSTANTIATE_TEST_SUITE_P(Engines, ArrayOps, ::testing::ValuesIn(device_names()), device_name);

}  // namespace

}  // namespace stoker::test
