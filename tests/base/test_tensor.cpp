#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>
#include <stoker/tensor.h>

namespace stoker {
namespace {

TEST(Tensor, IsAlignedToCacheLinesAlsoWhenEmpty) {
  for (Shape shape : {Shape{}, Shape{0}, Shape{3, 5}, Shape{1000}})
    for (DType dtype : {DType::float32, DType::uint8, DType::bytes}) {
      Tensor tensor(dtype, shape);
      EXPECT_TRUE(tensor.defined());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw()) % 64, 0U);
    }
}

TEST(Tensor, HoldsWhatItWasMadeFrom) {
  Tensor tensor = Tensor::from({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {2, 3});
  EXPECT_EQ(to_string(tensor.spec()), "float32[2, 3]");
  EXPECT_EQ(tensor.bytes(), 24U);
  EXPECT_EQ(tensor.at(4), 5);
  EXPECT_EQ(Tensor(2.5F).item(), 2.5);
  EXPECT_THROW(Tensor::from({1.0F, 2.0F}, {3}), ShapeError);
}

TEST(Tensor, OfBytesHoldsStringsOfAnyLength) {
  std::string with_nul("a\0b", 3), large(100'000, 'x');
  Tensor tensor = Tensor::from<std::string>({with_nul, "", large}, {3});
  Tensor copy = tensor.clone();
  EXPECT_EQ(copy, tensor);
  EXPECT_EQ(copy.data<std::string>()[0], with_nul);
  EXPECT_EQ(tensor[2].values<std::string>()[0], large);
  int64_t rows[] = {2, 0, 2};
  EXPECT_EQ(tensor.gather(rows).values<std::string>()[2], large);
  EXPECT_EQ(Tensor::zeros({2}, DType::bytes).values<std::string>()[1], "");
}

TEST(Tensor, OfBytesHoldsNoNumbers) {
  Tensor tensor = Tensor::from<std::string>({"3"}, {1});
  EXPECT_THROW(tensor.item(), ShapeError);
  EXPECT_THROW(tensor.cast(DType::float32), ShapeError);
  EXPECT_THROW(Tensor(1.0F).cast(DType::bytes), ShapeError);
  EXPECT_THROW(Tensor::full({1}, 3, DType::bytes), ShapeError);
}

TEST(Tensor, IsWrittenOnlyByItsOnlyOwner) {
  Tensor tensor = Tensor::zeros({2});
  tensor.data_mut<float>()[0] = 1;
  Tensor other = tensor;
  EXPECT_THROW(tensor.data_mut<float>(), Error);
  EXPECT_THROW(other.data_mut<float>(), Error);
  other = Tensor();
  EXPECT_NO_THROW(tensor.data_mut<float>());
  Tensor copy = tensor.clone();
  copy.data_mut<float>()[0] = 2;
  EXPECT_EQ(tensor.at(0), 1);
}

TEST(Tensor, AnswersOnlyToItsOwnType) {
  EXPECT_THROW(Tensor(1.0F).data<int32_t>(), ShapeError);
  EXPECT_THROW(Tensor().data<float>(), Error);
  EXPECT_THROW(Tensor().raw_mut(), Error);
}

TEST(Tensor, ThatCannotExistIsRefusedBeforeMemoryIsTaken) {
  EXPECT_THROW(Tensor(DType::float32, {INT64_MAX / 2}), ShapeError);
  EXPECT_THROW(Tensor(DType::int64, {int64_t(1) << 61}), ShapeError);
  EXPECT_THROW(Tensor(DType::uint8, {int64_t(1) << 32, int64_t(1) << 32}), ShapeError);
  EXPECT_THROW(Tensor(DType::float32, {-1, 3}), ShapeError);
}

TEST(Tensor, ReshapesWithoutCopying) {
  Tensor tensor = Tensor::full({4, 6}, 1);
  Tensor view = tensor.reshape({2, -1, 3});
  EXPECT_EQ(view.shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(view.raw(), tensor.raw());
  EXPECT_EQ(tensor.reshape({-1}).shape(), Shape{24});
  EXPECT_EQ(Tensor::zeros({0, 3}).reshape({-1, 5}).shape(), (Shape{0, 5}));
}

TEST(Tensor, RefusesReshapesThatDoNotFit) {
  Tensor tensor = Tensor::zeros({4, 6});
  EXPECT_THROW(tensor.reshape({5, 5}), ShapeError);
  EXPECT_THROW(tensor.reshape({-1, 5}), ShapeError);
  EXPECT_THROW(tensor.reshape({-1, -1}), ShapeError);
  EXPECT_THROW(tensor.reshape({-1, 0}), ShapeError);
}

TEST(Tensor, SlicesRowsAsViews) {
  Tensor tensor = Tensor::from<int32_t>({0, 1, 2, 3, 4, 5}, {3, 2});
  Tensor rows = tensor.slice(1, 3);
  EXPECT_EQ(rows, Tensor::from<int32_t>({2, 3, 4, 5}, {2, 2}));
  EXPECT_EQ(rows.raw(), tensor.data<int32_t>() + 2);
  EXPECT_EQ(tensor[2], Tensor::from<int32_t>({4, 5}, {2}));
  EXPECT_EQ(tensor[2][1].item(), 5);
  EXPECT_EQ(tensor.slice(3, 3).elements(), 0);
  EXPECT_EQ(Tensor::zeros({0, 2}).slice(0, 0).shape(), (Shape{0, 2}));
}

TEST(Tensor, RefusesRowsThatDoNotExist) {
  Tensor tensor = Tensor::zeros({3, 2});
  EXPECT_THROW(tensor.slice(0, 4), ValueError);
  EXPECT_THROW(tensor.slice(2, 1), ValueError);
  EXPECT_THROW(tensor.slice(-1, 1), ValueError);
  EXPECT_THROW(tensor[3], ValueError);
  EXPECT_THROW(Tensor(1.0F)[0], ValueError);
  EXPECT_THROW(tensor.at(6), ValueError);
  int64_t rows[] = {0, 3};
  EXPECT_THROW(tensor.gather(rows), ValueError);
  EXPECT_THROW(tensor.item(), ShapeError);
}

TEST(Tensor, GathersRowsInTheGivenOrder) {
  Tensor tensor = Tensor::from<uint8_t>({0, 1, 2, 3, 4, 5}, {3, 2});
  int64_t rows[] = {2, 0, 2};
  EXPECT_EQ(tensor.gather(rows), Tensor::from<uint8_t>({4, 5, 0, 1, 4, 5}, {3, 2}));
  EXPECT_EQ(tensor.gather({}).shape(), (Shape{0, 2}));
}

TEST(Tensor, WrapsMemoryThatItsOwnerKeepsAlive) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  std::weak_ptr<std::vector<float>> alive = owner;
  float* data = owner->data();
  {
    Tensor tensor = Tensor::wrap(std::move(owner), data, DType::float32, {2});
    EXPECT_EQ(tensor.at(1), 2);
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_THROW(Tensor::wrap(nullptr, data, DType::float32, {2}), ValueError);
}

TEST(Cast, GoesTowardsZeroAndStopsAtTheLimits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Tensor tensor = Tensor::from({1.9F, -1.9F, 300.0F, -300.0F, NAN, kInfinity, -kInfinity}, {7});
  EXPECT_EQ(tensor.cast(DType::int8), Tensor::from<int8_t>({1, -1, 127, -128, 0, 127, -128}, {7}));
  EXPECT_EQ(tensor.cast(DType::uint8), Tensor::from<uint8_t>({1, 0, 255, 0, 0, 255, 0}, {7}));
  EXPECT_EQ(tensor.cast(DType::int64).values<int64_t>()[5], INT64_MAX);
  EXPECT_EQ(tensor.cast(DType::int32).values<int32_t>()[6], INT32_MIN);
}

TEST(Cast, MakesEverythingButZeroTrue) {
  Tensor flags = Tensor::from({0.0F, -0.0F, 0.5F, NAN}, {4}).cast(DType::bool_);
  EXPECT_EQ(flags.to_string(), "bool[4] {0, 0, 1, 1}");
  EXPECT_EQ(flags.cast(DType::float32), Tensor::from({0.0F, 0.0F, 1.0F, 1.0F}, {4}));
}

TEST(Cast, OfSmallIntegersIsExactThroughEveryType) {
  constexpr DType kNumeric[] = {DType::float32, DType::float16, DType::bfloat16, DType::int8,
                                DType::int16,   DType::int32,   DType::int64,    DType::uint8};
  for (DType from : kNumeric)
    for (DType to : kNumeric)
      EXPECT_EQ(Tensor::full({3}, 100, from).cast(to), Tensor::full({3}, 100, to))
          << name(from) << " to " << name(to);
}

TEST(Cast, OfIntegersWraps) {
  EXPECT_EQ(Tensor::from<int32_t>({257, -1}, {2}).cast(DType::uint8),
            Tensor::from<uint8_t>({1, 255}, {2}));
}

TEST(Tensor, PrintsTheFirstValues) {
  EXPECT_EQ(Tensor::from({1.0F, 2.5F, 3.0F}, {3}).to_string(), "float32[3] {1, 2.5, 3}");
  EXPECT_EQ(Tensor::full({2, 3}, 7, DType::int32).to_string(2), "int32[2, 3] {7, 7, …}");
  EXPECT_EQ(Tensor::from<std::string>({"a.jpg"}, {1}).to_string(), "bytes[1] {\"a.jpg\"}");
  EXPECT_EQ(Tensor::zeros({0}).to_string(), "float32[0] {}");
  EXPECT_EQ(Tensor().to_string(), "undefined tensor");
}

TEST(Tensor, ComparesBitsNotValues) {
  EXPECT_FALSE(Tensor(0.0F) == Tensor(-0.0F));
  EXPECT_TRUE(Tensor(NAN) == Tensor(NAN));
  EXPECT_FALSE(Tensor::zeros({2}) == Tensor::zeros({2, 1}));
  EXPECT_FALSE(Tensor::zeros({2}) == Tensor::zeros({2}, DType::int32));
  EXPECT_TRUE(Tensor() == Tensor());
  EXPECT_FALSE(Tensor() == Tensor::zeros({}));
}

}  // namespace
}  // namespace stoker
