// Colours and values against the formulas of tf.image, in double precision.
#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>
#include <stoker/image.h>

#include "image/pictures.h"

namespace stoker::test {
namespace {

using namespace image;

using Change = std::function<double(double value, int64_t channel)>;

// uint8 as tf.image treats it: to 0 … 1, changed, back with · 255.5, cut.
double through_unit(const Change& change, double value, int64_t channel) {
  return std::floor(std::clamp(change(value / 255, channel) * 255.5, 0.0, 255.0));
}

void expect_change(const Op& op, const Tensor& in, const Change& change, double tolerance) {
  Tensor out = op(in);
  int64_t channels = in.shape()[-1];
  bool bytes = in.dtype() == DType::uint8 && out.dtype() == DType::uint8;
  double largest = 0, sum = 0;
  for (int64_t i = 0; i < in.elements(); ++i) {
    double expected =
        bytes ? through_unit(change, in.at(i), i % channels) : change(in.at(i), i % channels);
    double difference = std::abs(out.at(i) - expected);
    largest = std::max(largest, difference);
    sum += difference;
  }
  // A float's rounding may fall on the other side of a whole number, rarely.
  EXPECT_LE(largest, bytes ? 1 : tolerance) << op.name();
  EXPECT_LE(sum / double(in.elements()), bytes ? 0.01 : tolerance) << op.name();
}

std::vector<double> means(const Tensor& in) {
  std::vector<double> sums(size_t(in.shape()[2]), 0);
  for (int64_t i = 0; i < in.elements(); ++i) sums[size_t(i % in.shape()[2])] += in.at(i);
  for (double& sum : sums) sum /= double(in.shape()[0] * in.shape()[1]);
  return sums;
}

TEST(ImageColor, BrightnessAddsAPartOfTheFullRange) {
  for (double delta : {-0.7, -0.1, 0.0, 0.123, 0.9}) {
    Change change = [&](double v, int64_t) { return v + delta; };
    expect_change(brightness(delta), make_picture(21, 35, 3), change, 0);
    expect_change(brightness(delta), make_float_picture(21, 35, 4), change, 1e-6);
  }
  EXPECT_TRUE(brightness(0)(make_picture(9, 9, 3)) == make_picture(9, 9, 3));
}

TEST(ImageColor, ContrastStretchesAboutTheMeanOfEachChannel) {
  for (int64_t channels : {1, 3, 4})
    for (double factor : {0.0, 0.4, 1.0, 2.5}) {
      Tensor bytes = make_picture(19, 47, channels), floats = make_float_picture(19, 47, channels);
      std::vector<double> byte_means = means(bytes), float_means = means(floats);
      expect_change(
          contrast(factor), bytes,
          [&](double v, int64_t c) {
            double mean = byte_means[size_t(c)] / 255;
            return (v - mean) * factor + mean;
          },
          0);
      expect_change(
          contrast(factor), floats,
          [&](double v, int64_t c) {
            return (v - float_means[size_t(c)]) * factor + float_means[size_t(c)];
          },
          1e-6);
    }
}

// By way of hue, saturation and value, as the definition has it.
void saturate(double* rgb, double factor) {
  double most = std::max({rgb[0], rgb[1], rgb[2]}), least = std::min({rgb[0], rgb[1], rgb[2]});
  double range = most - least, hue = 0;
  if (range > 0) {
    if (most == rgb[0])
      hue = std::fmod((rgb[1] - rgb[2]) / range + 6, 6);
    else if (most == rgb[1])
      hue = (rgb[2] - rgb[0]) / range + 2;
    else
      hue = (rgb[0] - rgb[1]) / range + 4;
  }
  double saturation = std::clamp(most > 0 ? range / most * factor : 0.0, 0.0, 1.0);
  for (int c = 0; c < 3; ++c) {
    double k = std::fmod((c == 0 ? 5 : c == 1 ? 3 : 1) + hue, 6);
    rgb[c] = most - most * saturation * std::max(0.0, std::min({k, 4 - k, 1.0}));
  }
}

TEST(ImageColor, SaturationScalesThatOfHsv) {
  for (double factor : {0.0, 0.5, 1.0, 3.0}) {
    Tensor bytes = make_picture(11, 29, 3), floats = make_float_picture(11, 29, 3);
    Tensor out_bytes = saturation(factor)(bytes), out_floats = saturation(factor)(floats);
    for (int64_t pixel = 0; pixel < 11 * 29; ++pixel) {
      double a[3], b[3];
      for (int64_t c = 0; c < 3; ++c) {
        a[c] = bytes.at(pixel * 3 + c) / 255;
        b[c] = floats.at(pixel * 3 + c);
      }
      saturate(a, factor);
      saturate(b, factor);
      for (int64_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(out_bytes.at(pixel * 3 + c), std::floor(std::min(255.0, a[c] * 255.5)), 1);
        EXPECT_NEAR(out_floats.at(pixel * 3 + c), b[c], 1e-6);
      }
    }
  }
}

TEST(ImageColor, RandomChangesStayInTheirRanges) {
  Tensor grey = Tensor::full({2, 2, 3}, 0.5);
  Rng rng(1);
  double low = 1, high = 0;
  for (int i = 0; i < 500; ++i) {
    double value = random_brightness(0.2)(grey, rng).at(0);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  EXPECT_GE(low, 0.3 - 1e-6);
  EXPECT_LT(low, 0.31);
  EXPECT_LE(high, 0.7 + 1e-6);
  EXPECT_GT(high, 0.69);
  Tensor two = Tensor::from<float>({0, 0, 0, 1, 1, 1}, {1, 2, 3});
  for (int i = 0; i < 200; ++i) {
    double value = random_contrast(0.5, 1.5)(two, rng).at(3);  // 0.5 + 0.5 · factor
    EXPECT_GE(value, 0.75 - 1e-6);
    EXPECT_LE(value, 1.25 + 1e-6);
  }
}

TEST(ImageValues, NormalizeIsByChannel) {
  std::vector<double> mean = {100, 120, 140}, deviation = {50, 60, 70};
  Change change = [&](double v, int64_t c) { return (v - mean[size_t(c)]) / deviation[size_t(c)]; };
  Op op = normalize(mean, deviation);
  expect_change(op, make_picture(7, 50, 3), change, 1e-5);
  expect_change(
      normalize({100}, {2}), make_picture(7, 50, 5),
      [](double v, int64_t) { return (v - 100) / 2; }, 1e-5);
  // Any shape: a batch, a vector.
  Tensor batch = make_picture(6, 70, 3).reshape({2, 3, 70, 3});
  EXPECT_TRUE(op(batch) == op(batch.reshape({6, 70, 3})).reshape({2, 3, 70, 3}));
  EXPECT_EQ(op(make_picture(1, 1, 3).reshape({3})).shape(), (Shape{3}));
}

TEST(ImageValues, LongVectorsAreTakenInPieces) {
  Tensor in = make_picture(1, 5001, 3).reshape({5001 * 3});
  Tensor out = rescale(2, 1)(in);
  for (int64_t i = 0; i < in.elements(); ++i) ASSERT_EQ(out.at(i), in.at(i) * 2 + 1);
}

TEST(ImageValues, ChainsGiveWhatTheirPartsGive) {
  Op all = brightness(0.1) | convert(DType::float32) | rescale(2, -1) | contrast(1.5) |
           saturation(0.7) | normalize({0.1, 0.2, 0.3}, {0.5, 0.6, 0.7}) | brightness(-0.2) |
           flip_left_right() | crop(1, 1, 8, 30) | rescale(255) | cast(DType::uint8) |
           saturation(1.2) | brightness(0.01) | brightness(0.02) | contrast(0.9) |
           brightness(0.01) | saturation(0.9) | brightness(0.01) | saturation(1.1) |
           brightness(0.01) | saturation(1.1) | convert(DType::float32);
  for (const Tensor& in : {make_picture(10, 40, 3), make_picture(33, 31, 3, 9)}) {
    Tensor value = in;
    for (const auto& step : all.steps()) value = Op(step)(value);
    // Rounding may move a value across a whole number, once.
    EXPECT_LE(largest_difference(all(in), value), 2.01 / 255);
    EXPECT_LE(mean_difference(all(in), value), 0.0005);
  }
}

TEST(ImageValues, ConvertScalesRangesAndCastDoesNot) {
  auto convert_one = [](double value, DType from, DType to) {
    return convert(to)(Tensor::full({1}, value, from)).at(0);
  };
  EXPECT_FLOAT_EQ(float(convert_one(255, DType::uint8, DType::float32)), 1);
  EXPECT_FLOAT_EQ(float(convert_one(51, DType::uint8, DType::float32)), 0.2F);
  EXPECT_EQ(convert_one(1, DType::float32, DType::uint8), 255);
  EXPECT_EQ(convert_one(0.5, DType::float32, DType::uint8), 127);
  EXPECT_EQ(convert_one(7, DType::float32, DType::uint8), 255);
  EXPECT_EQ(convert_one(-7, DType::float32, DType::uint8), 0);
  EXPECT_EQ(convert_one(NAN, DType::float32, DType::uint8), 0);
  EXPECT_EQ(convert_one(1, DType::float32, DType::int16), 32767);
  EXPECT_EQ(convert_one(256, DType::int16, DType::uint8), 2);
  EXPECT_EQ(convert_one(3, DType::uint8, DType::int16), 3 * 128);
  EXPECT_EQ(convert_one(1, DType::float32, DType::bfloat16), 1);
  EXPECT_NEAR(convert_one(255, DType::uint8, DType::float16), 1, 1e-3);
  for (int value = 0; value < 256; ++value)  // there and back
    EXPECT_EQ(
        (convert(DType::float32) | convert(DType::uint8))(Tensor::full({1}, value, DType::uint8))
            .at(0),
        value);

  auto cast_one = [](double value, DType from, DType to) {
    return cast(to)(Tensor::full({1}, value, from)).at(0);
  };
  EXPECT_EQ(cast_one(200, DType::uint8, DType::float32), 200);
  EXPECT_EQ(cast_one(1.9, DType::float32, DType::uint8), 1);
  EXPECT_EQ(cast_one(300, DType::float32, DType::uint8), 255);
  EXPECT_EQ(cast_one(-1.9, DType::float32, DType::int32), -1);
  EXPECT_EQ(cast_one(NAN, DType::float32, DType::uint8), 0);
  EXPECT_EQ(cast_one(5, DType::int64, DType::bool_), 1);
}

TEST(ImageValues, OneHotMarksTheClass) {
  Tensor out = one_hot(4)(Tensor::from<int64_t>({2, 0}, {2}));
  EXPECT_TRUE(out == Tensor::from<float>({0, 0, 1, 0, 1, 0, 0, 0}, {2, 4}));
  EXPECT_EQ(one_hot(3)(Tensor::full({}, 1, DType::int32)).shape(), (Shape{3}));
  EXPECT_THROW(one_hot(4)(Tensor::from<int64_t>({4}, {1})), ValueError);
  EXPECT_THROW(one_hot(4)(Tensor::from<int64_t>({-1}, {1})), ValueError);
}

TEST(ImageValues, EmptyPicturesStayEmpty) {
  Tensor empty(DType::uint8, {0, 5, 3});
  EXPECT_EQ((flip_left_right() | normalize({1, 2, 3}, {1, 1, 1}) | flip_up_down())(empty).spec(),
            (TensorSpec{DType::float32, {0, 5, 3}}));
  EXPECT_THROW(resize(3, 3)(empty), ShapeError);
}

}  // namespace
}  // namespace stoker::test
