// What decoders make of files in all their forms, and of what is no picture.
#include <algorithm>

#include <gtest/gtest.h>
#include <stoker/image.h>

#include "image/pictures.h"

namespace stoker::test {
namespace {

using namespace image;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DecodeJpeg, GivesBackWhatWasEncoded) {
  Tensor picture = resize(60, 83)(make_picture(12, 17, 3));  // smooth
  for (auto [h, v] : {std::pair(1, 1), {2, 1}, {2, 2}}) {
    Tensor out = decode_jpeg()(bytes_tensor(make_jpeg(picture, {.quality = 98, .h = h, .v = v})));
    EXPECT_LE(mean_difference(out, picture), 5) << h << "x" << v;
  }
  Tensor exact = decode_jpeg()(bytes_tensor(make_jpeg(picture, {.quality = 100, .rgb = true})));
  EXPECT_LE(largest_difference(exact, picture), 4);
}

TEST(DecodeJpeg, GreyAndColourTakeTheChannelsThatAreAskedFor) {
  Tensor grey = resize(20, 30)(make_picture(10, 15, 1));
  Tensor jpeg = bytes_tensor(make_jpeg(grey, {.quality = 100}));
  Tensor one = decode_jpeg({.channels = 1})(jpeg), three = decode_jpeg()(jpeg);
  EXPECT_LE(largest_difference(one, grey), 3);
  EXPECT_EQ(three.shape(), (Shape{20, 30, 3}));
  for (int64_t i = 0; i < three.elements(); ++i) ASSERT_EQ(three.at(i), one.at(i / 3));
  EXPECT_TRUE(decode_jpeg({.channels = 0})(jpeg) == one);
  EXPECT_THROW(decode_jpeg({.channels = 2}), ValueError);
  EXPECT_EQ(decode_jpeg({.channels = 1})(bytes_tensor(make_jpeg(make_picture(5, 6, 3)))).shape(),
            (Shape{5, 6, 1}));
}

TEST(DecodeJpeg, InksBecomeColours) {
  // Adobe's inverted inks (YCCK): 255 is none. Plain CMYK is written by libjpeg with Adobe's
  // marker, too.
  Tensor inks(DType::uint8, {8, 8, 4});
  for (int64_t i = 0; i < 64; ++i) {
    uint8_t ink[] = {200, 100, 50, 128};
    std::copy(ink, ink + 4, inks.data_mut<uint8_t>() + 4 * i);
  }
  for (bool ycck : {false, true}) {
    std::string jpeg = make_jpeg(inks, {.quality = 100, .ycck = ycck});
    Tensor out = decode_jpeg()(bytes_tensor(jpeg));
    EXPECT_NEAR(out.at(0), 200 * 128 / 255, 3);
    EXPECT_NEAR(out.at(1), 100 * 128 / 255, 3);
    EXPECT_NEAR(out.at(2), 50 * 128 / 255, 3);
    EXPECT_EQ(decode_jpeg({.channels = 1})(bytes_tensor(jpeg)).shape(), (Shape{8, 8, 1}));
  }
}

TEST(DecodeJpeg, OrientationIsIgnored) {
  Tensor picture = make_picture(20, 30, 3);
  EXPECT_TRUE(decode_jpeg()(bytes_tensor(make_jpeg(picture, {.exif = true}))) ==
              decode_jpeg()(bytes_tensor(make_jpeg(picture))));
}

TEST(DecodeJpeg, SmallestPictures) {
  for (int64_t height : {1, 2, 7, 8, 9})
    for (int64_t width : {1, 2, 15, 16, 17})
      for (bool progressive : {false, true}) {
        Tensor jpeg = bytes_tensor(make_jpeg(make_picture(height, width, 3),
                                             {.h = 2, .v = 2, .progressive = progressive}));
        EXPECT_EQ(decode_jpeg()(jpeg).shape(), (Shape{height, width, 3}));
        Rng rng(1);
        EXPECT_EQ((decode_jpeg() | random_resized_crop(5))(jpeg, rng).shape(), (Shape{5, 5, 3}));
      }
}

TEST(DecodeJpeg, ScaledDecodingIsCloseAndOptional) {
  Tensor picture = resize(512, 512)(make_picture(20, 20, 3));
  Tensor jpeg = bytes_tensor(make_jpeg(picture, {.quality = 95, .h = 2, .v = 2}));
  for (int64_t size : {16, 32, 64, 100, 120}) {
    Op shrink = crop(30, 41, 450, 433) | resize(size, size, {.antialias = true});
    Tensor exact = (decode_jpeg() | shrink)(jpeg),
           scaled = (decode_jpeg({.scaled = true}) | shrink)(jpeg);
    EXPECT_LE(mean_difference(exact, scaled), 2) << size;
    EXPECT_EQ(exact == scaled, size > 108) << "scaled, or not, at " << size;
  }
}

TEST(DecodeJpeg, TakesNoMemoryForAHugeHeader) {
  std::string jpeg = make_jpeg(make_picture(16, 16, 3));
  size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (size_t at : {frame + 5, frame + 7}) {
    jpeg[at] = char(60000 >> 8);
    jpeg[at + 1] = char(60000 & 255);
  }
  EXPECT_EQ(message_of([&] { decode_jpeg()(bytes_tensor(jpeg)); }),
            "JPEG: 60000×60000 pixels, the limit is 100000000; raise .max_pixels to decode it");
  EXPECT_THROW(decode_jpeg({.max_pixels = 255})(bytes_tensor(make_jpeg(make_picture(16, 16, 3)))),
               ImageError);
  EXPECT_NO_THROW(
      decode_jpeg({.max_pixels = 256})(bytes_tensor(make_jpeg(make_picture(16, 16, 3)))));
}

TEST(DecodeJpeg, SaysWhatIsWrong) {
  std::string jpeg = make_jpeg(make_picture(40, 40, 3));
  EXPECT_EQ(message_of([&] { decode_jpeg()(bytes_tensor(jpeg.substr(0, jpeg.size() * 2 / 3))); }),
            "JPEG: Premature end of JPEG file");
  EXPECT_EQ(message_of([&] { decode_jpeg()(bytes_tensor("GIF89a")); }),
            "JPEG: Not a JPEG file: starts with 0x47 0x49");
  EXPECT_EQ(message_of([&] { decode_jpeg()(bytes_tensor("")); }), "JPEG: Empty input file");
  EXPECT_EQ(message_of([&] { decode_image()(bytes_tensor("GIF89a")); }),
            "decode_image: neither JPEG nor PNG: 6 bytes that begin with 47 49 46 38 39 61");
}

TEST(DecodeJpeg, WhatLiesBelowTheCropIsNotRead) {
  std::string jpeg = make_jpeg(make_picture(200, 40, 3));
  std::string cut = jpeg.substr(0, jpeg.size() * 3 / 4);
  EXPECT_THROW(decode_jpeg()(bytes_tensor(cut)), ImageError);
  EXPECT_TRUE((decode_jpeg() | crop(0, 0, 50, 40))(bytes_tensor(cut)) ==
              (decode_jpeg() | crop(0, 0, 50, 40))(bytes_tensor(jpeg)));
}

TEST(DecodePng, GivesBackWhatWasEncoded) {
  for (int64_t channels : {1, 2, 3, 4})
    for (int depth : {8, 16})
      for (bool interlaced : {false, true})
        for (auto [height, width] : {std::pair(1, 1), {13, 7}, {30, 41}}) {
          Tensor picture = make_picture(height, width, channels);
          Tensor png = bytes_tensor(make_png(picture, {.depth = depth, .interlaced = interlaced}));
          EXPECT_TRUE(decode_png({.channels = 0})(png) == picture)
              << channels << " channels, " << depth << " bits";
        }
}

TEST(DecodePng, TakesTheChannelsThatAreAskedFor) {
  Tensor grey = make_picture(9, 11, 2), colour = make_picture(9, 11, 4);
  Tensor grey_png = bytes_tensor(make_png(grey)), colour_png = bytes_tensor(make_png(colour));
  Tensor three = decode_png()(grey_png), four = decode_png({.channels = 4})(grey_png);
  Tensor rgb = decode_png()(colour_png), one = decode_png({.channels = 1})(colour_png);
  Tensor opaque = decode_png({.channels = 4})(bytes_tensor(make_png(make_picture(9, 11, 3))));
  for (int64_t pixel = 0; pixel < 99; ++pixel) {
    for (int64_t c = 0; c < 3; ++c) {
      ASSERT_EQ(three.at(pixel * 3 + c), grey.at(pixel * 2));
      ASSERT_EQ(four.at(pixel * 4 + c), grey.at(pixel * 2));
      ASSERT_EQ(rgb.at(pixel * 3 + c), colour.at(pixel * 4 + c));
    }
    ASSERT_EQ(four.at(pixel * 4 + 3), grey.at(pixel * 2 + 1));
    ASSERT_EQ(opaque.at(pixel * 4 + 3), 255);
    double luma = 0.2126 * rgb.at(pixel * 3) + 0.7152 * rgb.at(pixel * 3 + 1) +
                  0.0722 * rgb.at(pixel * 3 + 2);
    ASSERT_NEAR(one.at(pixel), luma, 2);
  }
}

TEST(DecodePng, PalettesSmallDepthsAndTransparentColours) {
  Tensor values = make_picture(10, 13, 1);
  for (int depth : {1, 2, 4, 8})
    for (bool interlaced : {false, true}) {
      Tensor grey = decode_png({.channels = 1})(
          bytes_tensor(make_png(values, {.depth = depth, .interlaced = interlaced})));
      Tensor palette = decode_png()(bytes_tensor(
          make_png(values, {.depth = depth, .palette = true, .interlaced = interlaced})));
      for (int64_t i = 0; i < values.elements(); ++i) {
        int index = int(values.at(i)) >> (8 - depth);
        ASSERT_EQ(grey.at(i), index * 255 / ((1 << depth) - 1));
        ASSERT_EQ(palette.at(i * 3), uint8_t(index * 7));
        ASSERT_EQ(palette.at(i * 3 + 1), uint8_t(255 - index));
        ASSERT_EQ(palette.at(i * 3 + 2), uint8_t(index * 3 + 1));
      }
    }
  Tensor clear = decode_png({.channels = 4})(
      bytes_tensor(make_png(values, {.depth = 2, .palette = true, .transparent = true})));
  for (int64_t i = 0; i < values.elements(); ++i) {
    int index = int(values.at(i)) >> 6;
    ASSERT_EQ(clear.at(i * 4 + 3), index == 0 ? 0 : index == 1 ? 128 : 255);
  }
  EXPECT_EQ(decode_png({.channels = 0})(
                bytes_tensor(make_png(make_picture(4, 4, 3), {.transparent = true})))
                .shape(),
            (Shape{4, 4, 4}));
  EXPECT_EQ(
      decode_png()(bytes_tensor(make_png(make_picture(4, 4, 3), {.transparent = true}))).shape(),
      (Shape{4, 4, 3}));
}

TEST(DecodePng, SaysWhatIsWrong) {
  std::string png = make_png(make_picture(40, 40, 3));
  EXPECT_EQ(message_of([&] { decode_png()(bytes_tensor(png.substr(0, png.size() / 2))); }),
            "PNG: premature end of the file");
  EXPECT_EQ(message_of([&] { decode_png()(bytes_tensor("no picture at all")); }),
            "PNG: Not a PNG file");
  std::string huge = png;
  huge.replace(16, 8, std::string("\0\0\xea\x60\0\0\xea\x60", 8));
  EXPECT_THROW(decode_png()(bytes_tensor(huge)), ImageError);  // and its checksum is wrong
  EXPECT_THROW(decode_png({.max_pixels = 1599})(bytes_tensor(png)), ImageError);
}

TEST(DecodeImage, GoesByTheFirstBytes) {
  Tensor picture = make_picture(14, 18, 3);
  Tensor jpeg = bytes_tensor(make_jpeg(picture)), png = bytes_tensor(make_png(picture));
  EXPECT_TRUE(decode_image()(png) == picture);
  EXPECT_TRUE(decode_image()(jpeg) == decode_jpeg()(jpeg));
  EXPECT_TRUE((decode_image() | crop(3, 4, 5, 6))(jpeg) == crop(3, 4, 5, 6)(decode_jpeg()(jpeg)));
}

TEST(EncodeJpeg, IsReadBack) {
  Tensor picture = resize(50, 70)(make_picture(10, 14, 3));
  for (bool subsampled : {false, true})
    for (bool progressive : {false, true}) {
      Op op = encode_jpeg({.quality = 98, .subsampled = subsampled, .progressive = progressive}) |
              decode_jpeg();
      EXPECT_LE(mean_difference(op(picture), picture), 5);
    }
  Tensor grey = resize(50, 70)(make_picture(10, 14, 1));
  EXPECT_LE(mean_difference((encode_jpeg() | decode_jpeg({.channels = 1}))(grey), grey), 2);
}

TEST(RestartMarkers, ChangeNoPixel) {
  for (auto [h, v] : {std::pair(1, 1), {2, 1}, {2, 2}})
    for (bool progressive : {false, true})
      for (int64_t channels : {1, 3, 4}) {
        Tensor jpeg = bytes_tensor(make_jpeg(make_picture(70, 333, channels),
                                             {.h = h, .v = v, .progressive = progressive}));
        Tensor marked = add_restart_markers({.mcus = 4})(jpeg);
        EXPECT_TRUE(decode_jpeg()(marked) == decode_jpeg()(jpeg));
        EXPECT_NE(bytes_in(marked).find("\xff\xd0"), std::string::npos);
        EXPECT_NE(bytes_in(marked).find("\xff\xd7"), std::string::npos);
        Rng a(7), b(7);
        Op op = decode_jpeg() | random_resized_crop(40) | random_flip_left_right();
        EXPECT_TRUE(op(jpeg, a) == op(marked, b));
        // In the middle of a chain, too.
        EXPECT_TRUE((add_restart_markers() | decode_jpeg() | flip_up_down())(jpeg) ==
                    (decode_jpeg() | flip_up_down())(jpeg));
      }
  EXPECT_THROW(add_restart_markers()(bytes_tensor("nothing")), ImageError);
}

}  // namespace
}  // namespace stoker::test
