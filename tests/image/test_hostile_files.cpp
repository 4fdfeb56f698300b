// Files that were cut, damaged or made to hurt: an ImageError or a picture, never anything else.
#include <gtest/gtest.h>
#include <stoker/image.h>
#include <zlib.h>

#include "image/pictures.h"
#include "support/deflate.h"

namespace stoker::test {
namespace {

using namespace image;

enum class Result { picture, error };

Result decode(const Op& op, std::string bytes) {
  Rng rng(1);
  try {
    op(bytes_tensor(std::move(bytes)), rng);
    return Result::picture;
  } catch (const ImageError& error) {
    EXPECT_GT(std::string(error.what()).size(), 8U);
    return Result::error;
  } catch (const ShapeError&) {  // damaged sizes: smaller than the crop
    return Result::error;
  }
}

const std::vector<Op>& decoders() {
  static const std::vector<Op> ops = {
      decode_image({.max_pixels = 1 << 20}),
      decode_image({.max_pixels = 1 << 20}) | random_resized_crop(8) | random_flip_left_right(),
      decode_image({.channels = 1, .max_pixels = 1 << 20}) | center_crop(3, 3)};
  return ops;
}

std::vector<std::string> samples() {
  std::vector<std::string> files;
  for (bool progressive : {false, true})
    for (int64_t channels : {1, 3, 4})
      files.push_back(make_jpeg(
          make_picture(24, 20, channels),
          {.h = channels == 3 ? 2 : 1, .v = channels == 3 ? 2 : 1, .progressive = progressive}));
  files.push_back(make_jpeg(make_picture(24, 40, 3), {.restart = 2}));
  files.push_back(make_png(make_picture(12, 10, 3)));
  files.push_back(make_png(make_picture(12, 10, 4), {.depth = 16, .interlaced = true}));
  files.push_back(
      make_png(make_picture(12, 10, 1), {.depth = 4, .palette = true, .transparent = true}));
  return files;
}

TEST(HostileFiles, CutAtEveryByte) {
  for (const std::string& file : samples()) {
    int errors = 0;
    for (size_t size = 0; size < file.size(); ++size)
      errors += decode(decoders()[0], file.substr(0, size)) == Result::error;
    // Only the marks at the very end (2 bytes of a JPEG, 12 and a checksum of a PNG) may be
    // missing.
    EXPECT_GE(errors, int(file.size()) - 16) << "a cut file passed as whole";
    for (size_t size = 0; size < file.size(); size += 7)
      for (const Op& op : decoders()) decode(op, file.substr(0, size));
  }
}

TEST(HostileFiles, DamagedBits) {
  Rng rng(2026);
  for (const std::string& file : samples())
    for (int trial = 0; trial < 400; ++trial) {
      std::string damaged = file;
      for (int64_t flips = rng.integer(1, 6); flips > 0; --flips)
        damaged[size_t(rng.integer(0, int64_t(file.size())))] ^= char(1 << rng.integer(0, 8));
      decode(decoders()[size_t(trial % 3)], damaged);
      if (damaged.starts_with("\xff\xd8")) decode(add_restart_markers(), damaged);
    }
}

TEST(HostileFiles, DamagedBytesAndStretches) {
  Rng rng(7);
  for (const std::string& file : samples())
    for (int trial = 0; trial < 300; ++trial) {
      std::string damaged = file;
      size_t at = size_t(rng.integer(8, int64_t(file.size()))), length = size_t(rng.integer(1, 30));
      switch (trial % 3) {
        case 0:
          damaged.erase(at, length);
          break;
        case 1:
          damaged.insert(at, length, char(rng.integer(0, 256)));
          break;
        default:
          for (size_t i = at; i < std::min(at + length, damaged.size()); ++i)
            damaged[i] = char(rng.integer(0, 256));
      }
      for (const Op& op : decoders()) decode(op, damaged);
    }
}

TEST(HostileFiles, ThousandsOfScansAreRefused) {
  // A progressive file whose last scan is repeated: each repetition is cheap to write and dear to
  // read.
  std::string file = make_jpeg(make_picture(64, 64, 1), {.progressive = true});
  size_t scan = file.rfind("\xff\xda");
  std::string last = file.substr(scan, file.size() - 2 - scan), many = file.substr(0, scan);
  for (int i = 0; i < 3000; ++i) many += last;
  EXPECT_EQ(decode(decoders()[0], many + "\xff\xd9"), Result::error);
}

// A PNG chunk; libpng checks its CRC.
std::string png_chunk(const std::string& kind, const std::string& data) {
  auto number = [](uint64_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += char(value >> shift & 0xff);
    return bytes;
  };
  std::string body = kind + data;
  return number(data.size()) + body +
         number(crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size())));
}

std::string grey_png(int64_t side, const std::string& content) {
  std::string header = {0, 0, 0, char(side), 0, 0, 0, char(side), 8, 0, 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + png_chunk("IDAT", zlib(content)) +
         png_chunk("IEND", "");
}

TEST(HostileFiles, APngWithMoreDataThanItsHeaderSaysIsNotUnpacked) {
  size_t pixels = 8 * (8 + 1);
  EXPECT_EQ(decode(decode_png(), grey_png(8, std::string(pixels, '\0'))), Result::picture);
  try {
    decode_png()(bytes_tensor(grey_png(8, std::string(size_t(64) << 20, '\0'))));
    FAIL() << "64 MB passed as 8×8 pixels";
  } catch (const ImageError& error) {
    EXPECT_STREQ(error.what(), "PNG: more data than its header says");
  }
}

}  // namespace
}  // namespace stoker::test
