// Arithmetic on host tensors, and C++ numbers of every type becoming tensors.
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <stoker/tensor.h>

namespace stoker {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(TensorFrom, KeepsDoublesAsFloat32) {
  std::vector<double> values = {0.1, -2.5, 1e-300};
  Tensor tensor = Tensor::from(values, {3});
  EXPECT_EQ(tensor, Tensor::from({0.1F, -2.5F, 0.0F}, {3}));
  EXPECT_EQ(Tensor::from<double>({1, 2}, {2}), Tensor::from({1.0F, 2.0F}, {2}));
  EXPECT_EQ(Tensor::from({1.0, 2.0}, {2}).dtype(), DType::float32);
  EXPECT_THROW(Tensor::from({1e300}, {1}), ValueError);
  EXPECT_TRUE(std::isinf(Tensor::from({std::numeric_limits<double>::infinity()}, {1}).item()));
}

TEST(TensorFrom, TakesIntegersOfEveryType) {
  EXPECT_EQ(Tensor::from({1, 2}, {2}).dtype(), DType::int32);
  EXPECT_EQ(Tensor::from({1LL, 2LL}, {2}), Tensor::from<int64_t>({1, 2}, {2}));
  EXPECT_EQ(Tensor::from({4'000'000'000U}, {}), Tensor::from<int64_t>({4'000'000'000}, {}));
  EXPECT_EQ(Tensor::from(std::vector<size_t>{7}, {1}), Tensor::from<int64_t>({7}, {1}));
  EXPECT_EQ(Tensor::from(std::vector<unsigned short>{65535}, {1}).dtype(), DType::int32);
  EXPECT_THROW(Tensor::from({~0ULL}, {1}), ValueError);
}

TEST(TensorFrom, TakesVectorsOfBoolAndTexts) {
  EXPECT_EQ(Tensor::from(std::vector<bool>{true, false}, {2}), Tensor::from({true, false}, {2}));
  EXPECT_EQ(Tensor::from({"a", "b"}, {2}), Tensor::from<std::string>({"a", "b"}, {2}));
}

TEST(TensorToVector, ReadsAnyDtypeAsAnyType) {
  Tensor bytes = Tensor::from<uint8_t>({0, 200}, {2});
  EXPECT_EQ(bytes.to_vector<double>(), (std::vector<double>{0, 200}));
  EXPECT_EQ(bytes.to_vector<int>(), (std::vector<int>{0, 200}));
  EXPECT_EQ(bytes.to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ(Tensor(0.5F).to_vector<double>(), std::vector<double>{0.5});
}

TEST(TensorFull, IsNotCutToFitAnInteger) {
  EXPECT_THROW(Tensor::full({1}, 0.5, DType::int32), ValueError);
  EXPECT_THROW(Tensor::full({1}, 300, DType::uint8), ValueError);
  EXPECT_THROW(Tensor::full({1}, -1, DType::uint8), ValueError);
  EXPECT_THROW(Tensor::full({1}, kNaN, DType::int64), ValueError);
  EXPECT_EQ(Tensor::full({1}, 255, DType::uint8).item(), 255);
}

TEST(TensorToString, ShowsIntegersInFull) {
  EXPECT_EQ(Tensor::from<int64_t>({INT64_MAX, -5}, {2}).to_string(),
            "int64[2] {9223372036854775807, -5}");
  EXPECT_EQ(Tensor::from({123456789}, {1}).to_string(), "int32[1] {123456789}");
  EXPECT_EQ(Tensor::from({0.5F}, {1}).to_string(), "float32[1] {0.5}");
}

TEST(TensorMath, DividesPicturesToFloat32) {
  Tensor picture = Tensor::from<uint8_t>({0, 51, 255}, {3});
  EXPECT_EQ(picture / 255, Tensor::from({0.0F, 51.0F / 255.0F, 1.0F}, {3}));
  EXPECT_EQ(picture / 255.0, picture / 255);
  EXPECT_EQ(picture * 2.0F, Tensor::from({0.0F, 102.0F, 510.0F}, {3}));
  EXPECT_EQ((picture - 127.5) / 127.5, Tensor::from({-1.0F, -76.5F / 127.5F, 1.0F}, {3}));
}

TEST(TensorMath, OfIntegersStaysWholeAndNeverWraps) {
  Tensor bytes = Tensor::from<uint8_t>({0, 200}, {2});
  EXPECT_EQ(bytes * 2, Tensor::from({0, 400}, {2}));
  EXPECT_EQ(bytes - 128, Tensor::from({-128, 72}, {2}));
  EXPECT_EQ(-bytes, Tensor::from({0, -200}, {2}));
  EXPECT_EQ(bytes + bytes, Tensor::from({0, 400}, {2}));
  EXPECT_EQ(Tensor::from({true, false}, {2}) + 1, Tensor::from({2, 1}, {2}));
  EXPECT_THROW(Tensor::from({2'000'000'000}, {1}) * 2, ValueError);
  EXPECT_EQ(Tensor::from({2'000'000'000}, {1}) + 3'000'000'000,
            Tensor::from<int64_t>({5'000'000'000}, {1}));
  EXPECT_EQ(Tensor::from<int64_t>({1}, {1}) + int64_t(9'007'199'254'740'992),
            Tensor::from<int64_t>({9'007'199'254'740'993}, {1}));
}

TEST(TensorMath, KeepsTheFloatDtypeBesideANumber) {
  for (DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    Tensor x = Tensor::full({2}, 3, dtype);
    EXPECT_EQ(1.5 - x, Tensor::full({2}, -1.5, dtype));
    EXPECT_EQ(x * 2, Tensor::full({2}, 6, dtype));
    EXPECT_EQ((x + Tensor::full({2}, 1, DType::int64)).dtype(), dtype);
  }
  EXPECT_EQ(Tensor::full({1}, 0, DType::float16) * -1e9, Tensor::full({1}, -0.0));
  EXPECT_EQ((Tensor::full({1}, 1, DType::float16) + Tensor::full({1}, 1)).dtype(), DType::float32);
}

TEST(TensorMath, BroadcastsAsNumPyDoes) {
  Tensor x = Tensor::from({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {2, 3});
  EXPECT_EQ(x - Tensor::from({1.0F, 2.0F, 3.0F}, {3}),
            Tensor::from({0.0F, 0.0F, 0.0F, 3.0F, 3.0F, 3.0F}, {2, 3}));
  EXPECT_EQ(x * Tensor::from({1.0F, -1.0F}, {2, 1}),
            Tensor::from({1.0F, 2.0F, 3.0F, -4.0F, -5.0F, -6.0F}, {2, 3}));
  Tensor column = Tensor::from({1, 2}, {2, 1}), row = Tensor::from({10, 20, 30}, {1, 3});
  EXPECT_EQ(column + row, Tensor::from({11, 21, 31, 12, 22, 32}, {2, 3}));
  Tensor blocks = Tensor::from({1, 2, 3, 4}, {2, 1, 2});
  EXPECT_EQ(blocks * Tensor::from({1, 10}, {2, 1}),
            Tensor::from({1, 2, 10, 20, 3, 4, 30, 40}, {2, 2, 2}));
  EXPECT_EQ((Tensor::zeros({0, 3}) + row).shape(), (Shape{0, 3}));
  EXPECT_EQ((Tensor(1.0F) + Tensor(2.0F)).item(), 3);
  EXPECT_THROW(x + Tensor::zeros({2}), ShapeError);
}

TEST(TensorMath, RefusesWhatHoldsNoNumbers) {
  EXPECT_THROW(Tensor::from({"3"}, {1}) * 2, ShapeError);
  EXPECT_THROW(Tensor() + 1, Error);
  EXPECT_THROW(Tensor::zeros({0}).mean(), Error);
}

TEST(TensorMath, FindsMeanAndExtremes) {
  Tensor x = Tensor::from<uint8_t>({10, 250, 40}, {3});
  EXPECT_EQ(x.mean(), 100);
  EXPECT_EQ(x.min(), 10);
  EXPECT_EQ(x.max(), 250);
  EXPECT_TRUE(std::isnan(Tensor::from({1.0F, kNaN, 2.0F}, {3}).max()));
}

TEST(Promotion, KeepsTheMeaningOfBoth) {
  EXPECT_EQ(promoted(DType::bool_, DType::uint8), DType::uint8);
  EXPECT_EQ(promoted(DType::uint8, DType::int8), DType::int16);
  EXPECT_EQ(promoted(DType::int32, DType::uint8), DType::int32);
  EXPECT_EQ(promoted(DType::int64, DType::bfloat16), DType::bfloat16);
  EXPECT_EQ(promoted(DType::float16, DType::bfloat16), DType::float32);
}

TEST(Promotion, KnowsWhatADtypeHolds) {
  EXPECT_TRUE(holds(DType::uint8, 255));
  EXPECT_FALSE(holds(DType::uint8, 256));
  EXPECT_FALSE(holds(DType::int32, 0.5));
  EXPECT_FALSE(holds(DType::int64, 0x1p63));
  EXPECT_TRUE(holds(DType::int64, -0x1p63));
  EXPECT_TRUE(holds(DType::float16, 65504));
  EXPECT_FALSE(holds(DType::float16, 65536));
  EXPECT_FALSE(holds(DType::float16, 1e-12));
  EXPECT_TRUE(holds(DType::float16, 0.1)) << "rounding is no loss of meaning";
  EXPECT_TRUE(holds(DType::bfloat16, -INFINITY));
}

TEST(TensorArgmax, IsTheFirstLargestAlongAnyAxis) {
  Tensor x = Tensor::from<float>({1, 5, 2, 9, 9, 0}, {2, 3});
  EXPECT_EQ(x.argmax(), Tensor::from<int64_t>({1, 0}, {2}));
  EXPECT_EQ(x.argmax(0), Tensor::from<int64_t>({1, 1, 0}, {3}));
  EXPECT_EQ(Tensor::from<uint8_t>({3, 200}, {2}).argmax(), Tensor::from<int64_t>({1}, {}));
  EXPECT_EQ(Tensor::from<float>({1, kNaN, 7}, {3}).argmax().item(), 1);
  EXPECT_EQ(Tensor::zeros({0, 3}).argmax().shape(), Shape{0});
}

TEST(TensorArgmax, RefusesAxesWithoutEntries) {
  EXPECT_THROW(Tensor::zeros({2, 3}).argmax(2), ShapeError);
  EXPECT_THROW(Tensor::zeros({2, 0}).argmax(), ShapeError);
  EXPECT_THROW(Tensor(1.0F).argmax(), ShapeError);
  EXPECT_THROW(Tensor().argmax(), ShapeError);
}

}  // namespace
}  // namespace stoker
