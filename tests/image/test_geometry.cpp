// Resizes, crops and flips against obvious double-precision references.
#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>
#include <stoker/image.h>

#include "image/pictures.h"

namespace stoker::test {
namespace {

using namespace image;

// What a source pixel (its left edge at `pixel`) contributes to the output pixel `output`.
double weight(ResizeMethod method, bool antialias, double scale, int64_t output, double pixel) {
  double centre = (double(output) + 0.5) * scale;
  if (method == ResizeMethod::nearest) return std::floor(centre) == pixel ? 1 : 0;
  if (method == ResizeMethod::area) {
    double begin = double(output) * scale, end = double(output + 1) * scale;
    return std::max(0.0, std::min(pixel + 1, end) - std::max(pixel, begin));
  }
  double support = antialias ? std::max(1.0, scale) : 1.0;
  return std::max(0.0, 1 - std::abs(pixel + 0.5 - centre) / support);
}

// The definition: every output pixel looks at every source pixel.
std::vector<double> resized(const Tensor& in, int64_t height, int64_t width, const Resize& how) {
  const Shape& shape = in.shape();
  double scale_y = double(shape[0]) / double(height), scale_x = double(shape[1]) / double(width);
  std::vector<double> out;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < shape[2]; ++c) {
        double sum = 0, total = 0;
        for (int64_t from_y = 0; from_y < shape[0]; ++from_y) {
          double wy = weight(how.method, how.antialias, scale_y, y, double(from_y));
          for (int64_t from_x = 0; wy > 0 && from_x < shape[1]; ++from_x) {
            double w = wy * weight(how.method, how.antialias, scale_x, x, double(from_x));
            sum += w * in.at((from_y * shape[1] + from_x) * shape[2] + c);
            total += w;
          }
        }
        out.push_back(sum / total);
      }
  return out;
}

void expect_near(const Tensor& got, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.elements(), int64_t(expected.size())) << what;
  double largest = 0;
  for (int64_t i = 0; i < got.elements(); ++i)
    largest = std::max(largest, std::abs(got.at(i) - expected[size_t(i)]));
  EXPECT_LE(largest, tolerance) << what;
}

TEST(ImageResize, IsWhatTheDefinitionSays) {
  struct Size {
    int64_t from_h, from_w, to_h, to_w;
  };
  for (const Size& s : {Size{37, 53, 16, 20},
                        {16, 20, 37, 53},
                        {9, 11, 9, 11},
                        {1, 1, 5, 4},
                        {64, 3, 7, 9},
                        {50, 70, 1, 1},
                        {40, 33, 13, 101}})
    for (const Resize& how :
         {Resize{}, Resize{.antialias = true}, Resize{.method = ResizeMethod::nearest},
          Resize{.method = ResizeMethod::area}})
      for (int64_t channels : {1, 2, 3, 4, 5}) {
        std::string what = std::to_string(s.from_h) + "x" + std::to_string(s.from_w) + " to " +
                           std::to_string(s.to_h) + "x" + std::to_string(s.to_w) + ", " +
                           std::to_string(channels) + " channels, method " +
                           std::to_string(int(how.method)) + (how.antialias ? " antialias" : "");
        Op op = resize(s.to_h, s.to_w, how);
        Tensor bytes = make_picture(s.from_h, s.from_w, channels);
        bool exact = how.method == ResizeMethod::nearest;
        // Two roundings of half a level, and weights of 14 bits.
        expect_near(op(bytes), resized(bytes, s.to_h, s.to_w, how), exact ? 0 : 1.05, what);
        Tensor floats = make_float_picture(s.from_h, s.from_w, channels);
        expect_near(op(floats), resized(floats, s.to_h, s.to_w, how), exact ? 0 : 2e-6, what);
      }
}

TEST(ImageResize, KeepsAFlatPictureFlatAtAnyScale) {
  for (int value : {0, 1, 127, 254, 255})
    for (int64_t to : {1, 3, 224, 500}) {
      Tensor flat = Tensor::full({2000, 30, 3}, value, DType::uint8);
      for (const Resize& how : {Resize{.antialias = true}, Resize{.method = ResizeMethod::area}})
        EXPECT_TRUE(resize(to, to, how)(flat) == Tensor::full({to, to, 3}, value, DType::uint8))
            << value << " to " << to;
    }
}

TEST(ImageResize, KeepsThePictureAtItsOwnSize) {
  Tensor picture = make_picture(31, 45, 3);
  for (const Resize& how :
       {Resize{}, Resize{.antialias = true}, Resize{.method = ResizeMethod::nearest},
        Resize{.method = ResizeMethod::area}})
    EXPECT_TRUE(resize(31, 45, how)(picture) == picture);
}

TEST(ImageResize, AveragesThousandsOfPixelsWithoutDrift) {
  Tensor picture = make_picture(3000, 3000, 1);
  double mean = 0;
  for (int64_t i = 0; i < picture.elements(); ++i) mean += picture.at(i);
  mean /= double(picture.elements());
  Tensor one = resize(1, 1, {.method = ResizeMethod::area})(picture);
  EXPECT_NEAR(one.at(0), mean, 1.05);
}

// out[y, x] = in[map(y, x)]
Tensor mapped(const Tensor& in, int64_t height, int64_t width,
              const std::function<std::pair<int64_t, int64_t>(int64_t, int64_t)>& map) {
  const Shape& shape = in.shape();
  Tensor out(in.dtype(), {height, width, shape[2]});
  size_t pixel = size_t(shape[2]) * size_of(in.dtype());
  auto* to = static_cast<char*>(out.raw_mut());
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      auto [from_y, from_x] = map(y, x);
      const char* from =
          static_cast<const char*>(in.raw()) + size_t(from_y * shape[1] + from_x) * pixel;
      std::copy(from, from + pixel, to + size_t(y * width + x) * pixel);
    }
  return out;
}

TEST(ImageGeometry, CropsAndFlipsMovePixelsAndNothingElse) {
  for (int64_t width : {1, 2, 5, 6, 7, 16, 17, 33, 100})
    for (int64_t channels : {1, 2, 3, 4, 7})
      for (const Tensor& in :
           {make_picture(9, width, channels), make_float_picture(9, width, channels)}) {
        int64_t last = width - 1;
        EXPECT_TRUE(
            flip_left_right()(in) ==
            mapped(in, 9, width, [&](int64_t y, int64_t x) { return std::pair(y, last - x); }))
            << width << " " << channels;
        EXPECT_TRUE(flip_up_down()(in) == mapped(in, 9, width, [&](int64_t y, int64_t x) {
                      return std::pair(8 - y, x);
                    }));
        EXPECT_TRUE(crop(2, width / 2, 5, 1)(in) == mapped(in, 5, 1, [&](int64_t y, int64_t x) {
                      return std::pair(y + 2, x + width / 2);
                    }));
        EXPECT_TRUE(
            (flip_left_right() | flip_up_down() | crop(1, 0, 3, width) | flip_up_down())(in) ==
            mapped(in, 3, width, [&](int64_t y, int64_t x) { return std::pair(5 + y, last - x); }));
        EXPECT_TRUE((flip_left_right() | flip_left_right())(in) == in);
      }
}

TEST(ImageGeometry, CenterCropTakesTheMiddle) {
  Tensor in = make_picture(10, 13, 3);
  EXPECT_TRUE(center_crop(4, 6)(in) == crop(3, 3, 4, 6)(in));
}

TEST(ImageGeometry, RandomCropPadsWithZeros) {
  Tensor in = Tensor::full({8, 8, 3}, 7, DType::uint8);
  bool saw_zero = false, saw_whole = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    Tensor out = random_crop(8, 8, {.padding = 2})(in, rng);
    int64_t kept = 0;
    for (uint8_t value : out.values<uint8_t>()) {
      ASSERT_TRUE(value == 0 || value == 7);
      kept += value == 7;
    }
    EXPECT_GE(kept, 6 * 6 * 3);
    saw_zero |= kept < 8 * 8 * 3;
    saw_whole |= kept == 8 * 8 * 3;
  }
  EXPECT_TRUE(saw_zero);
  EXPECT_TRUE(saw_whole);
}

// A picture that tells where each of its pixels is.
TEST(ImageGeometry, RandomCropReachesEveryPlaceEquallyOften) {
  Tensor in(DType::uint8, {4, 5, 1});
  for (int64_t i = 0; i < 20; ++i) in.data_mut<uint8_t>()[i] = uint8_t(i);
  std::vector<int> count(20, 0);
  Rng rng(3);
  for (int i = 0; i < 6000; ++i) ++count[size_t(random_crop(2, 3)(in, rng).at(0))];
  for (int64_t y = 0; y < 4; ++y)
    for (int64_t x = 0; x < 5; ++x)  // nine places
      EXPECT_NEAR(count[size_t(y * 5 + x)], y < 3 && x < 3 ? 667 : 0, y < 3 && x < 3 ? 130 : 0);
}

TEST(ImageGeometry, RandomResizedCropKeepsAreaAndRatioInTheirRanges) {
  // Red grows with y, green with x: the corners of the result tell the box.
  Tensor in(DType::float32, {300, 400, 2});
  for (int64_t y = 0; y < 300; ++y)
    for (int64_t x = 0; x < 400; ++x) {
      in.data_mut<float>()[(y * 400 + x) * 2] = float(y) + 0.5F;
      in.data_mut<float>()[(y * 400 + x) * 2 + 1] = float(x) + 0.5F;
    }
  Op op = random_resized_crop(10, 10, {.scale = {0.2, 0.5}, .antialias = false});
  double smallest = 1, largest = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    Tensor out = op(in, rng);
    double height = (out.at(9 * 20) - out.at(0)) / 9 * 10,
           width = (out.at(19) - out.at(1)) / 9 * 10;
    double area = height * width / (300 * 400), ratio = width / height;
    EXPECT_GT(area, 0.19);
    EXPECT_LT(area, 0.51);
    EXPECT_GT(ratio, 0.73);
    EXPECT_LT(ratio, 1.36);
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
  }
  EXPECT_LT(smallest, 0.22);
  EXPECT_GT(largest, 0.48);
}

TEST(ImageGeometry, RandomResizedCropTakesTheMiddleOfWhatIsTooNarrow) {
  Tensor in = make_picture(4, 400, 3);
  Rng rng(1);
  Op op = random_resized_crop(4, 5, {.scale = {1, 1}, .antialias = false});
  EXPECT_TRUE(op(in, rng) == (crop(0, 197, 4, 5) | resize(4, 5))(in));
}

TEST(ImageGeometry, RandomFlipsHappenAsOftenAsAsked) {
  Tensor in = make_picture(3, 4, 3);
  Tensor flipped = flip_left_right()(in);
  int count = 0;
  Rng rng(5);
  for (int i = 0; i < 2000; ++i) {
    Tensor out = random_flip_left_right(0.25)(in, rng);
    ASSERT_TRUE(out == in || out == flipped);
    count += out == flipped;
  }
  EXPECT_NEAR(count, 500, 100);
  EXPECT_TRUE(random_flip_up_down(1)(in, rng) == flip_up_down()(in));
  EXPECT_TRUE(random_flip_up_down(0)(in, rng) == in);
}

}  // namespace
}  // namespace stoker::test
