// AugMix, elastic transform and CLAHE as steps of a pipeline.
#include <cmath>

#include <gtest/gtest.h>
#include <stoker/image_augment.h>
#include <stoker/stoker.h>

namespace stoker::test {
namespace {

// A bright disc on a slope of grey, [height, width, 3].
Tensor disc(int64_t height, int64_t width, DType dtype = DType::float32) {
  Tensor picture(DType::float32, {height, width, 3});
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column)
      for (int64_t c = 0; c < 3; ++c) {
        double far =
            std::hypot(double(row) - double(height) / 2, double(column) - double(width) / 2);
        double value = far < double(height) / 4 ? 200.0 : 20.0 + double(column + c * 7 + row % 5);
        picture.data_mut<float>()[(row * width + column) * 3 + c] = float(value);
      }
  return picture.cast(dtype);
}

double mean_difference(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.elements(); ++i) sum += std::abs(a.at(i) - b.at(i));
  return sum / double(a.elements());
}

void expect_within(const Tensor& picture, double low, double high) {
  for (int64_t i = 0; i < picture.elements(); ++i) {
    ASSERT_GE(picture.at(i), low);
    ASSERT_LE(picture.at(i), high);
  }
}

// Sizes that tiles divide and sizes that they do not.
TEST(ClaheStep, GivesWhatTheLayerGives) {
  using image::contrast_limited_adaptive_histogram_equalization;
  struct {
    int64_t height, width, rows, columns;
    double clip_limit;
  } cases[] = {{32, 32, 8, 8, 4.0}, {30, 41, 4, 3, 2.0}, {16, 24, 2, 2, 0.0}, {9, 7, 8, 8, 4.0}};
  for (const auto& one : cases) {
    Tensor picture = disc(one.height, one.width);
    Sequential layer(
        {Input({one.height, one.width, 3}),
         stoker::ContrastLimitedAdaptiveHistogramEqualization(
             {.clip_limit = one.clip_limit, .tile_grid_size = {one.rows, one.columns}})});
    Tensor expected = layer.predict(picture.reshape({1, one.height, one.width, 3}));
    Rng rng(1);
    Tensor got = contrast_limited_adaptive_histogram_equalization(
        {.clip_limit = one.clip_limit, .tile_rows = one.rows, .tile_columns = one.columns})(picture,
                                                                                            rng);
    for (int64_t i = 0; i < got.elements(); ++i)
      ASSERT_NEAR(got.at(i), expected.at(i), 2e-3) << one.height << " x " << one.width << ", " << i;
  }
}

TEST(ClaheStep, TakesOtherRangesAndBytes) {
  using image::contrast_limited_adaptive_histogram_equalization;
  Tensor bytes = disc(32, 32, DType::uint8), ones = disc(32, 32);
  for (int64_t i = 0; i < ones.elements(); ++i) ones.data_mut<float>()[i] /= 255;
  Rng rng(1);
  Tensor of_bytes = contrast_limited_adaptive_histogram_equalization()(bytes, rng);
  Tensor of_ones = contrast_limited_adaptive_histogram_equalization({.range = {0, 1}})(ones, rng);
  EXPECT_EQ(of_bytes.dtype(), DType::uint8);
  expect_within(of_ones, 0, 1);
  // A level within rounding of the next one may fall to its other side.
  double most = 0;
  for (int64_t i = 0; i < ones.elements(); ++i)
    most = std::max(most, std::abs(of_bytes.at(i) / 255 - of_ones.at(i)));
  EXPECT_LT(most, 0.1);
}

TEST(AugMixStep, MixesAPictureWithAugmentedOnes) {
  for (DType dtype : {DType::float32, DType::uint8}) {
    Tensor picture = disc(24, 24, dtype);
    image::Op op = image::aug_mix({.factor = 0.5});
    double changed = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Rng first(seed), second(seed);
      Tensor out = op(picture, first);
      EXPECT_EQ(out, op(picture, second));
      EXPECT_EQ(out.spec(), picture.spec());
      expect_within(out, 0, 255);
      changed += mean_difference(out, picture);
    }
    EXPECT_GT(changed / 8, 1.0);
  }
}

TEST(ElasticStep, MovesPixelsSmoothly) {
  Tensor picture = disc(40, 30);
  Rng first(3), second(3), other(4);
  image::Op op = image::random_elastic_transform({.factor = {1, 1}, .scale = {1, 1}});
  Tensor out = op(picture, first);
  EXPECT_EQ(out, op(picture, second));
  EXPECT_NE(out, op(picture, other));
  expect_within(out, 0, 255);
  EXPECT_GT(mean_difference(out, picture), 0.5);
  EXPECT_LT(mean_difference(out, picture), 60.0);  // still the disc
}

TEST(ElasticStep, LeavesAPictureAloneWhereItIsAskedTo) {
  Tensor picture = disc(16, 16);
  Rng rng(3);
  EXPECT_EQ(image::random_elastic_transform({.factor = 0.0})(picture, rng), picture);
  EXPECT_EQ(image::random_elastic_transform({.scale = 0.0})(picture, rng), picture);
}

TEST(ComposedSteps, RefuseWhatTheyCannotDo) {
  EXPECT_THROW(image::aug_mix({.num_chains = 0}), ValueError);
  EXPECT_THROW(image::aug_mix({.alpha = 0}), ValueError);
  EXPECT_THROW(image::random_elastic_transform({.fill_mode = "mirror"}), ValueError);
  EXPECT_THROW(image::random_elastic_transform({.range = {1, 0}}), ValueError);
  EXPECT_THROW(image::contrast_limited_adaptive_histogram_equalization({.tile_rows = 0}),
               ValueError);
}

}  // namespace
}  // namespace stoker::test
