// The same vector kernels for every instruction set this host has, not only the one it would
// choose.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <stoker/random.h>

#include "base/isa_table.h"
#include "engine/cpu/isa/table.h"
#include "engine/reference/unary_math.h"
#include "support/draw.h"

namespace stoker::cpu {

void PrintTo(const KernelTable& table, std::ostream* out) { *out << table.name; }

}  // namespace stoker::cpu

namespace stoker::test {

namespace {

std::vector<cpu::KernelTable> tables() {
  std::vector<cpu::KernelTable> all;
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512})
    if (isa <= processor_isa()) all.push_back(table_of<cpu::KernelTable>(isa));
  return all;
}

std::vector<float> uniform(size_t count, float low, float high) {
  Rng rng = named_rng(fresh_seed(), "vector kernels");
  std::vector<float> values(count);
  for (float& value : values) value = rng.uniform(low, high);
  return values;
}

// Numbers for which the function is defined.
std::vector<float> arguments_of(UnaryFn fn) {
  return fn == UnaryFn::erfinv ? uniform(1003, 0.01F, 0.99F) : uniform(1003, 0.01F, 12);
}

class VectorKernels : public ::testing::TestWithParam<cpu::KernelTable> {};
INSTANTIATE_TEST_SUITE_P(On, VectorKernels, ::testing::ValuesIn(tables()),
                         [](const auto& table) { return std::string(table.param.name); });

TEST_P(VectorKernels, ComputeEveryFunctionAsTheReferenceDoes) {
  constexpr float kAlpha = 0.3F, kBeta = 0.7F;
  for (const UnaryInfo& info : unary_functions()) {
    std::vector<float> x = arguments_of(info.fn), y(x.size());
    GetParam().unary[int(info.fn)](x.data(), y.data(), int64_t(x.size()), kAlpha, kBeta);
    for (size_t i = 0; i < x.size(); ++i) {
      double expected = reference::unary_value(info.fn, x[i], kAlpha, kBeta);
      ASSERT_NEAR(y[i], expected, 16 * 0x1p-23 * std::abs(expected) + 0x1p-126)
          << info.name << " of " << x[i];
    }
  }
}

TEST_P(VectorKernels, AreAccurateOverTheWholeRangeOfAnExponential) {
  std::vector<float> x = uniform(10007, -104, 89), y(x.size());
  GetParam().unary[int(UnaryFn::exp)](x.data(), y.data(), int64_t(x.size()), 0, 0);
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = std::exp(double(x[i]));
    if (expected > double(std::numeric_limits<float>::max()))
      EXPECT_EQ(y[i], std::numeric_limits<float>::infinity());
    else
      ASSERT_NEAR(y[i], expected, 2 * 0x1p-23 * expected + 0x1p-126) << x[i];
  }
}

TEST_P(VectorKernels, PassNaNAndInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(37, std::numeric_limits<float>::quiet_NaN()), y(x.size());
  for (UnaryFn fn : {UnaryFn::exp, UnaryFn::log, UnaryFn::tanh, UnaryFn::sigmoid, UnaryFn::erf,
                     UnaryFn::relu, UnaryFn::gelu, UnaryFn::softplus}) {
    GetParam().unary[int(fn)](x.data(), y.data(), int64_t(x.size()), 0, 0);
    for (float value : y) ASSERT_TRUE(std::isnan(value)) << unary_info(fn).name;
  }
  x.assign(37, infinity);
  GetParam().unary[int(UnaryFn::log)](x.data(), y.data(), int64_t(x.size()), 0, 0);
  EXPECT_EQ(y[36], infinity);
  x.assign(37, -infinity);
  GetParam().unary[int(UnaryFn::exp)](x.data(), y.data(), int64_t(x.size()), 0, 0);
  EXPECT_EQ(y[36], 0);
}

// The contract of dropout: a function of the element's number, whatever the width of a vector.
TEST_P(VectorKernels, DrawTheSequenceOfTheContract) {
  constexpr uint64_t kSeed = 0x123456789abcdef0, kStream = 0xfedcba9876543210, kFirst = 1048572;
  std::vector<float> x(1001, 1), y(x.size());
  auto threshold = uint32_t(0.3 * 0x1p24);
  GetParam().dropout(x.data(), y.data(), int64_t(x.size()), kSeed, kStream, kFirst, threshold, 2);
  for (size_t i = 0; i < x.size(); ++i) {
    bool kept = (random_bits(kSeed, kStream, kFirst + i) >> 8) >= threshold;
    ASSERT_EQ(y[i], kept ? 2 : 0) << i;
  }
}

TEST_P(VectorKernels, SumWithoutLosingDigitsOverALongRow) {
  std::vector<float> x(1 << 20, 0.1F);
  double expected = double(0.1F) * double(x.size());
  EXPECT_NEAR(GetParam().fold[cpu::kSum](x.data(), int64_t(x.size())), expected, 1e-6 * expected);
}

TEST_P(VectorKernels, FindTheMaximumWhereverItIs) {
  for (size_t at : {0, 1, 63, 64, 65, 199}) {
    std::vector<float> x(200, -5);
    x[at] = -1;
    EXPECT_EQ(GetParam().fold[cpu::kMax](x.data(), 200), -1) << at;
  }
}

TEST_P(VectorKernels, PassNanThroughEveryFunction) {
  for (const UnaryInfo& info : unary_functions()) {
    std::vector<float> x = arguments_of(info.fn), y(x.size());
    for (size_t i = 0; i < x.size(); i += 7) x[i] = std::nanf("");
    GetParam().unary[int(info.fn)](x.data(), y.data(), int64_t(x.size()), 0.3F, 0.7F);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(std::isnan(y[i]), i % 7 == 0) << info.name << " of " << x[i] << " is " << y[i];
  }
}

TEST_P(VectorKernels, KeepNanInMaximaWhereverItStands) {
  for (int64_t window : {2, 3})
    for (int64_t inner : {5, 8, 16})
      for (int64_t at = 0; at < window * window; ++at) {
        std::vector<float> x = uniform(size_t(window * window * inner), -1, 1), y(size_t(inner), 0);
        x[size_t(at * inner + 2)] = std::nanf("");
        cpu::PoolGeometry g = {.height = window,
                               .width = window,
                               .out_height = 1,
                               .out_width = 1,
                               .window_h = window,
                               .window_w = window,
                               .stride_h = window,
                               .stride_w = window,
                               .top = 0,
                               .left = 0,
                               .inner = inner,
                               .x_pixel = inner,
                               .y_pixel = inner,
                               .relu = false};
        GetParam().max_pool(x.data(), y.data(), g, 0, 1);
        for (int64_t c = 0; c < inner; ++c)
          EXPECT_EQ(std::isnan(y[size_t(c)]), c == 2) << window << ", " << inner << ", " << at;
      }
}

}  // namespace

}  // namespace stoker::test
