#include <cmath>
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>
#include <stoker/dtype.h>
#include <stoker/error.h>

namespace stoker {
namespace {

constexpr DType kAll[] = {DType::float32, DType::float16, DType::bfloat16, DType::int8,
                          DType::int16,   DType::int32,   DType::int64,    DType::uint8,
                          DType::bool_,   DType::bytes};

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

// The value of a half by its definition, not by moving bits.
double half_by_definition(uint16_t half) {
  int exponent = half >> 10 & 31, mantissa = half & 1023;
  double magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                     : exponent == 0 ? std::ldexp(mantissa, -24)
                                     : std::ldexp(1024 + mantissa, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

TEST(DType, NamesAreThoseOfNumPyAndReadBack) {
  EXPECT_EQ(name(DType::bool_), "bool");
  EXPECT_EQ(name(DType::bfloat16), "bfloat16");
  for (DType dtype : kAll) EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
}

TEST(DType, AWrongNameListsTheRightOnes) {
  try {
    dtype_from_name("float64");
    FAIL() << "float64 was taken";
  } catch (const ValueError& error) {
    std::string text = error.what();
    EXPECT_NE(text.find("float64"), std::string::npos) << text;
    for (DType dtype : kAll) EXPECT_NE(text.find(name(dtype)), std::string::npos) << text;
  }
}

TEST(DType, SizesAreThoseOfTheCppTypes) {
  EXPECT_EQ(size_of(DType::float32), sizeof(float));
  EXPECT_EQ(size_of(DType::float16), sizeof(Float16));
  EXPECT_EQ(size_of(DType::bfloat16), sizeof(BFloat16));
  EXPECT_EQ(size_of(DType::int64), 8U);
  EXPECT_EQ(size_of(DType::bool_), 1U);
  EXPECT_EQ(size_of(DType::bytes), sizeof(std::string));
}

TEST(DType, BoolIsNeitherAFloatNorAnInteger) {
  EXPECT_FALSE(is_integer(DType::bool_));
  EXPECT_FALSE(is_floating(DType::bool_));
  EXPECT_TRUE(is_integer(DType::uint8));
  EXPECT_TRUE(is_integer(DType::int8));
  EXPECT_TRUE(is_floating(DType::bfloat16));
  EXPECT_FALSE(is_integer(DType::bytes));
}

TEST(Float16, EveryPatternHasTheValueOfItsDefinition) {
  for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    Float16 half;
    half.bits = uint16_t(pattern);
    double expected = half_by_definition(half.bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(float(half))) << pattern;
    } else {
      EXPECT_EQ(double(float(half)), expected) << pattern;
      EXPECT_EQ(std::signbit(float(half)), pattern >= 0x8000) << pattern;
    }
  }
}

TEST(Float16, EveryPatternSurvivesTheWayThroughFloat) {
  for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    Float16 half;
    half.bits = uint16_t(pattern);
    Float16 back{float(half)};
    bool signalling_nan = (pattern & 0x7e00) == 0x7c00 && (pattern & 0x1ff) != 0;
    EXPECT_EQ(back.bits, signalling_nan ? pattern | 0x200 : pattern);
  }
}

// Between two neighbouring halves lie a middle, which goes to the even one, and a float on either
// side of the middle, which go to the nearer one.
TEST(Float16, RoundsToNearestEvenBetweenAnyTwoNeighbours) {
  for (uint32_t pattern = 0; pattern < 0x7bff; ++pattern) {
    double low = half_by_definition(uint16_t(pattern));
    double high = half_by_definition(uint16_t(pattern + 1));
    auto middle = float((low + high) / 2);
    uint32_t even = pattern % 2 == 0 ? pattern : pattern + 1;
    ASSERT_EQ(Float16(middle).bits, even) << middle;
    ASSERT_EQ(Float16(std::nextafter(middle, 0.0F)).bits, pattern) << middle;
    ASSERT_EQ(Float16(std::nextafter(middle, 1e9F)).bits, pattern + 1) << middle;
    ASSERT_EQ(Float16(-middle).bits, even | 0x8000) << middle;
  }
}

TEST(Float16, OverflowsToInfinityFromTheMiddlePastTheLargest) {
  EXPECT_EQ(Float16(65504.0F).bits, 0x7bff);
  EXPECT_EQ(Float16(std::nextafter(65520.0F, 0.0F)).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Float16(-1e30F).bits, 0xfc00);
  EXPECT_EQ(Float16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(Float16, TheSmallestFloatsBecomeASignedZero) {
  EXPECT_EQ(Float16(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(Float16(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
  EXPECT_EQ(Float16(0x1p-25F).bits, 0);  // the middle between 0 and the smallest half
  EXPECT_EQ(Float16(std::nextafter(0x1p-25F, 1.0F)).bits, 1);
}

TEST(Float16, NaNStaysNaNWhateverItsPayload) {
  for (uint32_t payload : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U}) {
    Float16 half{std::bit_cast<float>(payload)};
    EXPECT_TRUE(std::isnan(float(half)));
    EXPECT_EQ(half.bits >> 15, payload >> 31);
  }
}

TEST(BFloat16, RoundsToNearestEvenBetweenAnyTwoNeighbours) {
  for (uint32_t pattern = 0; pattern < 0x7f7f; ++pattern) {
    uint32_t middle = pattern << 16 | 0x8000;
    ASSERT_EQ(BFloat16(std::bit_cast<float>(middle)).bits, pattern + pattern % 2);
    ASSERT_EQ(BFloat16(std::bit_cast<float>(middle - 1)).bits, pattern);
    ASSERT_EQ(BFloat16(std::bit_cast<float>(middle + 1)).bits, pattern + 1);
  }
}

TEST(BFloat16, KeepsNaNAndInfinity) {
  EXPECT_TRUE(std::isnan(float(BFloat16(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_TRUE(std::isnan(float(BFloat16(std::bit_cast<float>(0x7fffffffU)))));
  EXPECT_EQ(BFloat16(-std::numeric_limits<float>::infinity()).bits, 0xff80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(bits(float(BFloat16(1.5F))), bits(1.5F));
}

}  // namespace
}  // namespace stoker
