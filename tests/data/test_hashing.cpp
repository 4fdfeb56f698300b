// Hashing and HashedCrossing: the bins that Keras 3.15 gives.
#include <gtest/gtest.h>
#include <stoker/categories.h>

namespace stoker::test {
namespace {

using text::HashedCrossing;
using text::Hashing;
using text::OutputMode;

Tensor text_tensor(const std::vector<std::string>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.elements(); ++i) values.push_back(tensor.at(i));
  return values;
}
using Numbers = std::vector<double>;

TEST(Hashing, GivesKerasBins) {
  Tensor letters = text_tensor({"A", "B", "C", "D", "E"}, {5});
  EXPECT_EQ(numbers_of(Hashing(10)(letters)), Numbers({4, 8, 7, 5, 2}));
  EXPECT_EQ(numbers_of(Hashing(10)(Tensor::from<int32_t>({1, 2, 3, -4}, {4}))),
            Numbers({9, 9, 1, 0}));
}

TEST(Hashing, KeepsBinZeroForTheMask) {
  EXPECT_EQ(numbers_of(Hashing(10, {.mask_value = ""})(text_tensor({"A", "B", "", "C"}, {4}))),
            Numbers({8, 1, 0, 8}));
  EXPECT_EQ(
      numbers_of(Hashing(4, {.mask_value = int64_t(2)})(Tensor::from<int64_t>({1, 2, 3}, {3}))),
      Numbers({1, 0, 1}));
}

TEST(Hashing, TakesASalt) {
  Tensor letters = text_tensor({"A", "B", "C"}, {3});
  EXPECT_EQ(numbers_of(Hashing(10, {.salt = std::pair(133, 133)})(letters)), Numbers({9, 8, 2}));
  EXPECT_EQ(numbers_of(Hashing(10, {.salt = std::pair(133, 137)})(letters)), Numbers({4, 0, 7}));
}

TEST(Hashing, EncodesBins) {
  Tensor rows = text_tensor({"A", "B", "C", "D", "D", "A"}, {2, 3});
  EXPECT_EQ(numbers_of(Hashing(4, {.output_mode = OutputMode::multi_hot})(rows)),
            Numbers({1, 0, 0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(numbers_of(Hashing(4, {.output_mode = OutputMode::count})(rows)),
            Numbers({2, 0, 0, 1, 1, 0, 0, 2}));
}

TEST(HashedCrossing, GivesKerasBins) {
  auto cross = [](const Tensor& a, const Tensor& b) {
    return numbers_of(HashedCrossing(1000)({a, b}));
  };
  EXPECT_EQ(
      cross(Tensor::from<int32_t>({1, 7, 123456789}, {3}), Tensor::from<int32_t>({2, -3, 42}, {3})),
      Numbers({357, 682, 687}));
  EXPECT_EQ(cross(text_tensor({"A"}, {1}), Tensor::from<int64_t>({5}, {1})), Numbers({289}));
  EXPECT_EQ(cross(text_tensor({"A"}, {1}), text_tensor({"xyz"}, {1})), Numbers({191}));
  EXPECT_EQ(cross(text_tensor({"A", "B"}, {2, 1}), Tensor::from<int64_t>({1, 2}, {2, 1})),
            Numbers({115, 966}));
}

TEST(Hashing, SaysWhatItExpects) {
  EXPECT_THROW(Hashing(0), ValueError);
  EXPECT_THROW(Hashing(1, {.mask_value = "x"}), ValueError);
  EXPECT_THROW(Hashing(4, {.output_mode = OutputMode::tf_idf}), ValueError);
  EXPECT_THROW(Hashing(4)(Tensor::zeros({2})), ShapeError);
  EXPECT_THROW(HashedCrossing(4)({Tensor::from<int32_t>({1}, {1})}), ShapeError);
  EXPECT_THROW(HashedCrossing(4, OutputMode::count), ValueError);
}

}  // namespace
}  // namespace stoker::test
