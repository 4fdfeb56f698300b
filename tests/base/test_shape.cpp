#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/error.h>
#include <stoker/shape.h>

namespace stoker {
namespace {

TEST(Shape, PrintsLikeKeras) {
  EXPECT_EQ(to_string(Shape{32, 28, 28, 1}), "[32, 28, 28, 1]");
  EXPECT_EQ(to_string(Shape{-1, 10}), "[None, 10]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, CountsNegativeAxesFromTheEnd) {
  Shape shape{2, 3, 5};
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape.with(-2, 7), (Shape{2, 7, 5}));
}

TEST(Shape, AScalarHasOneElementAndAnEmptyDimensionNone) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{4, 0, 3}).elements(), 0);
  EXPECT_EQ((Shape{INT64_MAX, INT64_MAX, 0}).elements(), 0);
  EXPECT_EQ((Shape{INT64_MAX}).elements(), INT64_MAX);
}

TEST(Shape, RefusesToCountWhatIsUnknownOrOverflows) {
  EXPECT_THROW((Shape{-1, 3}).elements(), ShapeError);
  EXPECT_THROW((Shape{INT64_MAX, 2}).elements(), ShapeError);
  EXPECT_THROW((Shape{int64_t(1) << 32, int64_t(1) << 32}).elements(), ShapeError);
}

TEST(Shape, RefusesTooManyDimensionsAndNegativeOnes) {
  EXPECT_NO_THROW((Shape{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_THROW((Shape{1, 2, 3, 4, 5, 6, 7, 8, 9}), ShapeError);
  EXPECT_THROW((Shape{3, -2}), ShapeError);
}

TEST(Shape, GrowsAndShrinksAtTheFront) {
  EXPECT_EQ((Shape{28, 28}).prepend(-1), (Shape{-1, 28, 28}));
  EXPECT_EQ(Shape{}.prepend(3), Shape{3});
  EXPECT_EQ((Shape{32, 28, 28}).drop_front(), (Shape{28, 28}));
  EXPECT_EQ((Shape{32, 28}).drop_front(2), Shape{});
  EXPECT_THROW(Shape{}.drop_front(), ShapeError);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1}).prepend(1), ShapeError);
  EXPECT_THROW((Shape{2, 3}).with(2, 1), ShapeError);
  EXPECT_THROW((Shape{2, 3}).with(-3, 1), ShapeError);
}

TEST(Shape, OfDifferentRankIsDifferent) {
  EXPECT_FALSE((Shape{3}) == (Shape{3, 1}));
  EXPECT_FALSE((Shape{}) == (Shape{0}));
}

TEST(Broadcast, FollowsNumPy) {
  EXPECT_EQ(broadcast({8, 1, 6, 1}, {7, 1, 5}), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(broadcast({5, 4}, {}), (Shape{5, 4}));
  EXPECT_EQ(broadcast({1}, {0}), Shape{0});
  EXPECT_EQ(broadcast({3, 1}, {1, 4}), (Shape{3, 4}));
}

TEST(Broadcast, KeepsAnUnknownBatch) {
  EXPECT_EQ(broadcast({-1, 10}, {10}), (Shape{-1, 10}));
  EXPECT_EQ(broadcast({1, 10}, {-1, 10}), (Shape{-1, 10}));
  EXPECT_EQ(broadcast({-1, 10}, {32, 10}), (Shape{32, 10}));
}

TEST(Broadcast, NamesBothShapesWhenTheyDoNotFit) {
  try {
    broadcast({32, 10}, {32, 9});
    FAIL() << "they were broadcast";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "[32, 10] and [32, 9] do not broadcast: 10 against 9 on axis -1");
  }
}

}  // namespace
}  // namespace stoker
