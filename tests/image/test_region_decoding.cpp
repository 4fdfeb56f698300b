// Only the region that is needed gets decoded: the result must be that of a full decode.
#include <vector>

#include <gtest/gtest.h>
#include <stoker/image.h>

#include "image/pictures.h"

namespace stoker::test {
namespace {

using namespace image;

struct Form {
  std::string name;
  int64_t channels;
  JpegForm form;
};

std::vector<Form> all_forms() {
  std::vector<Form> forms;
  for (bool progressive : {false, true}) {
    std::string kind = progressive ? "progressive" : "baseline";
    for (auto [h, v] : {std::pair(1, 1), {2, 1}, {2, 2}, {4, 1}, {1, 2}, {4, 2}})
      forms.push_back({kind + " colour " + std::to_string(h) + "x" + std::to_string(v),
                       3,
                       {.h = h, .v = v, .progressive = progressive}});
    forms.push_back({kind + " grey", 1, {.progressive = progressive}});
    forms.push_back({kind + " RGB", 3, {.progressive = progressive, .rgb = true}});
    forms.push_back({kind + " CMYK", 4, {.progressive = progressive}});
    forms.push_back(
        {kind + " YCCK 2x2", 4, {.h = 2, .v = 2, .progressive = progressive, .ycck = true}});
    forms.push_back(
        {kind + " with restarts", 3, {.h = 2, .v = 2, .progressive = progressive, .restart = 3}});
  }
  return forms;
}

// A decode on its own, then each other step on its own.
Tensor one_by_one(const Op& op, const Tensor& in, Rng& rng) {
  Tensor value = in;
  for (const auto& step : op.steps()) value = Op(step)(value, rng);
  return value;
}

void expect_the_same(const Op& op, const Tensor& jpeg, uint64_t seed, const std::string& what) {
  Rng fused_rng(seed), single_rng(seed);
  Tensor fused = op(jpeg, fused_rng), single = one_by_one(op, jpeg, single_rng);
  EXPECT_TRUE(fused == single) << what << ": " << op.name() << ", largest difference "
                               << largest_difference(fused, single);
}

TEST(RegionDecoding, GivesTheBitsOfAFullDecodeForEveryFormOfJpeg) {
  for (const Form& form : all_forms())
    for (auto [height, width] : {std::pair(97, 131), {64, 48}, {33, 160}}) {
      Tensor jpeg = bytes_tensor(make_jpeg(make_picture(height, width, form.channels), form.form));
      std::string what = form.name + " " + std::to_string(height) + "x" + std::to_string(width);
      for (uint64_t seed = 0; seed < 12; ++seed) {
        expect_the_same(decode_jpeg() | random_crop(17, 23), jpeg, seed, what);
        expect_the_same(decode_jpeg() | random_resized_crop(32) | random_flip_left_right() |
                            random_flip_up_down(),
                        jpeg, seed, what);
      }
      expect_the_same(decode_jpeg({.channels = 1}) | center_crop(20, 30), jpeg, 0, what);
      expect_the_same(decode_jpeg({.channels = 0}) | crop(1, 2, 20, 30), jpeg, 0, what);
    }
}

TEST(RegionDecoding, EveryColumnAndRowCanBeTheFirst) {
  Tensor jpeg = bytes_tensor(make_jpeg(make_picture(50, 70, 3), {.h = 2, .v = 2}));
  Tensor full = decode_jpeg()(jpeg);
  for (int64_t y = 0; y < 48; ++y) {
    Tensor part = (decode_jpeg() | crop(y, 3, 2, 5))(jpeg);
    EXPECT_TRUE(part == crop(y, 3, 2, 5)(full)) << "row " << y;
  }
  for (int64_t x = 0; x < 69; ++x) {
    Tensor part = (decode_jpeg() | crop(7, x, 9, 1))(jpeg);
    EXPECT_TRUE(part == crop(7, x, 9, 1)(full)) << "column " << x;
  }
}

TEST(RegionDecoding, ResizesThenCropsAsTheStepsDo) {
  Tensor jpeg = bytes_tensor(make_jpeg(make_picture(150, 210, 3), {.h = 2, .v = 2}));
  expect_the_same(decode_jpeg() | resize(64, 80, {.antialias = true}) | center_crop(48, 56), jpeg,
                  0, "standard evaluation");
  expect_the_same(decode_jpeg() | crop(5, 6, 100, 120) | resize(32, 40) | random_crop(16, 16) |
                      flip_left_right() | crop(2, 3, 5, 7),
                  jpeg, 3, "crop, resize, crop, flip, crop");
  expect_the_same(decode_jpeg() | flip_left_right() | resize(50, 50), jpeg, 0,
                  "flip before resize");
  expect_the_same(decode_jpeg() | resize(60, 60) | resize(20, 20, {.method = ResizeMethod::area}),
                  jpeg, 0, "two resizes");
  expect_the_same(decode_jpeg() | random_crop(160, 220, {.padding = 20}) | flip_up_down(), jpeg, 5,
                  "padding");
  expect_the_same(decode_jpeg() | resize(30, 30) | random_crop(30, 30, {.padding = 4}), jpeg, 6,
                  "padding after a resize");
}

TEST(RegionDecoding, AlsoWorksForPng) {
  for (bool interlaced : {false, true}) {
    Tensor png = bytes_tensor(make_png(make_picture(61, 47, 3), {.interlaced = interlaced}));
    for (uint64_t seed = 0; seed < 10; ++seed)
      expect_the_same(decode_png() | random_resized_crop(20, 24) | random_flip_left_right(), png,
                      seed, "png");
  }
}

TEST(RegionDecoding, ReadsEachPictureAnewAfterAnError) {
  std::string good = make_jpeg(make_picture(40, 40, 3));
  Tensor expected = decode_jpeg()(bytes_tensor(good));
  EXPECT_THROW(decode_jpeg()(bytes_tensor(good.substr(0, good.size() / 2))), ImageError);
  EXPECT_TRUE(decode_jpeg()(bytes_tensor(good)) == expected);
}

}  // namespace
}  // namespace stoker::test
