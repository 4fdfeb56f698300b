#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <stoker/context.h>
#include <stoker/error.h>
#include <stoker/random.h>

#include "base/memory_file.h"
#include "formats/gzip.h"
#include "formats/idx.h"
#include "support/deflate.h"
#include "support/faulty_files.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using test::FaultyFiles;
using test::gzip;
using test::TempDir;

std::string big_endian(uint32_t value) {
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

std::string idx(char type, std::initializer_list<uint32_t> dims, const std::string& values) {
  std::string bytes = {'\0', '\0', type, char(dims.size())};
  for (uint32_t extent : dims) bytes += big_endian(extent);
  return bytes + values;
}

// What is wrong with the bytes, without the path before it.
std::string idx_error(const std::string& bytes) {
  MemoryFile file("a.idx", as_bytes(bytes));
  try {
    read_idx(file);
  } catch (const FileError& error) {
    std::string text = error.what();
    EXPECT_EQ(text.find("a.idx: "), 0U) << text;
    return text.substr(7);
  }
  return "no error";
}

TEST(Idx, ReadsImagesPlainOrCompressed) {
  TempDir dir;
  std::string images =
      idx(8, {2, 2, 3}, std::string("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\xfe\xff", 12));
  Tensor expected = Tensor::from<uint8_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 254, 255}, {2, 2, 3});
  EXPECT_EQ(read_idx(dir.write("plain", images)), expected);
  EXPECT_EQ(read_idx(dir.write("compressed", gzip(images))), expected);
}

TEST(Idx, ReadsEveryTypeFromBigEndian) {
  TempDir dir;
  EXPECT_EQ(read_idx(dir.write("a", idx(9, {2}, "\x01\xff"))), Tensor::from<int8_t>({1, -1}, {2}));
  EXPECT_EQ(read_idx(dir.write("a", idx(0xB, {2}, std::string("\x01\x02\xff\xfe", 4)))),
            Tensor::from<int16_t>({258, -2}, {2}));
  EXPECT_EQ(read_idx(dir.write("a", idx(0xC, {1}, big_endian(0x80000001)))),
            Tensor::from<int32_t>({INT32_MIN + 1}, {1}));
  EXPECT_EQ(read_idx(dir.write("a", idx(0xD, {1}, big_endian(0x3fc00000)))),
            Tensor::from({1.5F}, {1}));
}

TEST(Idx, KeepsFloat64AsFloat32AndSaysSoOnce) {
  TempDir dir;
  std::ostringstream said;
  std::ostream* before = std::exchange(default_context().out, &said);
  std::string half = idx(0xE, {1}, big_endian(0x3fe00000) + big_endian(0));
  EXPECT_EQ(read_idx(dir.write("a", half)), Tensor::from({0.5F}, {1}));
  EXPECT_EQ(read_idx(dir.write("b", half)), Tensor::from({0.5F}, {1}));
  default_context().out = before;
  std::string text = said.str();
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(idx_error(idx(0xE, {2}, big_endian(0) + big_endian(0))),
            "ends inside its values: expected 16 bytes, got 8");
}

TEST(Idx, MayHoldNoRowsOrOneValue) {
  TempDir dir;
  EXPECT_EQ(read_idx(dir.write("a", idx(8, {0, 28, 28}, ""))).shape(), (Shape{0, 28, 28}));
  EXPECT_EQ(read_idx(dir.write("a", idx(8, {}, "\x07"))).item(), 7);
}

TEST(Idx, ReadsGzipMembersThatFollowEachOther) {
  TempDir dir;
  std::string whole = idx(8, {4}, "abcd");
  std::string path = dir.write("a", gzip(whole.substr(0, 9)) + gzip(whole.substr(9)));
  EXPECT_EQ(read_idx(path), Tensor::from<uint8_t>({'a', 'b', 'c', 'd'}, {4}));
}

TEST(Idx, RefusesWhatIsNotIdx) {
  EXPECT_EQ(
      idx_error("PK\x03\x04 and more"),
      "not an IDX file of uint8, int8, int16, int32, float32 or float64: it begins with 50 4b 03");
  EXPECT_NE(idx_error(idx(0xF, {1}, std::string(8, '\0'))).find("not an IDX file"),
            std::string::npos);
  EXPECT_EQ(idx_error(""), "ends inside its header: expected 4 bytes, got 0");
  EXPECT_EQ(idx_error(idx(8, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "x")),
            "has 9 dimensions, Stoker reads up to 8");
}

TEST(Idx, RefusesMoreOrLessThanItsHeaderSays) {
  EXPECT_EQ(idx_error(idx(8, {3, 2}, "12345")), "ends inside its values: expected 6 bytes, got 5");
  EXPECT_EQ(idx_error(idx(8, {3, 2}, "1234567")), "holds more than the uint8[3, 2] of its header");
  EXPECT_EQ(idx_error(gzip(idx(8, {2}, "123"))), "holds more than the uint8[2] of its header");
  EXPECT_EQ(idx_error(gzip(idx(8, {4}, "123"))), "ends inside its values: expected 4 bytes, got 3");
}

TEST(Idx, ThatClaimsMoreThanItCanHoldTakesNoMemory) {
  constexpr uint32_t kHuge = 0xffffffff;
  EXPECT_EQ(idx_error(idx(8, {kHuge, kHuge, kHuge, kHuge}, "1")),
            "is too short for uint8[4294967295, 4294967295, 4294967295, 4294967295]");
  EXPECT_EQ(idx_error(idx(0xD, {kHuge, kHuge}, "1")),
            "is too short for float32[4294967295, 4294967295]");
  EXPECT_EQ(idx_error(gzip(idx(8, {kHuge}, "1"))), "is too short for uint8[4294967295]");
}

TEST(Idx, StopsUnpackingWhereTheHeaderSaysTheValuesEnd) {
  std::string bomb = gzip(idx(8, {10}, std::string(50'000'000, '\0')));
  EXPECT_LT(bomb.size(), 60'000U);
  EXPECT_EQ(idx_error(bomb), "holds more than the uint8[10] of its header");
}

TEST(Idx, CutOffAnywhereIsAnError) {
  std::string plain = idx(0xC, {2, 2}, std::string(16, 'x'));
  std::string compressed = gzip(plain);
  for (const std::string& whole : {plain, compressed})
    for (size_t length = 0; length < whole.size(); ++length)
      EXPECT_NE(idx_error(whole.substr(0, length)), "no error") << length;
}

TEST(Idx, WithDamagedBytesIsReadOrRefusedButNeverCrashes) {
  std::string plain = idx(8, {4, 5, 5}, std::string(100, 'x'));
  Rng rng(7);
  for (const std::string& whole : {plain, gzip(plain)})
    for (int round = 0; round < 5'000; ++round) {
      std::string bytes = whole;
      bytes[size_t(rng.integer(0, int64_t(bytes.size())))] = char(rng.integer(0, 256));
      idx_error(bytes);
    }
}

TEST(Idx, SeesDamageInsideACompressedFile) {
  std::string whole = gzip(idx(8, {100}, std::string(100, 'x')));
  std::string wrong_checksum = whole, garbage_after = whole + "garbage";
  wrong_checksum[whole.size() - 8] ^= 1;
  EXPECT_EQ(idx_error(wrong_checksum), "the gzip stream is damaged: incorrect data check");
  EXPECT_EQ(idx_error(garbage_after), "the gzip stream is damaged: incorrect header check");
}

TEST(Idx, IsReadThroughShortReadsAndReportsFailingOnes) {
  TempDir dir;
  std::string content = idx(8, {300}, std::string(300, 'y'));
  for (const std::string& path : {dir.write("a", content), dir.write("b", gzip(content))}) {
    FaultyFiles files;
    files.limit_reads(5);
    EXPECT_EQ(read_idx(path, files), Tensor::full({300}, 'y', DType::uint8));
    int operations = files.operations();
    for (int step = 0; step < operations; ++step) {
      files.fail_once(step, EIO);
      EXPECT_THROW(read_idx(path, files), FileError);
    }
  }
}

TEST(Gzip, IsReadInPiecesOfAnySize) {
  TempDir dir;
  std::string content;
  for (int i = 0; i < 20'000; ++i) content += std::to_string(i);
  auto file = local_files().open(dir.write("a.gz", gzip(content)));
  EXPECT_TRUE(is_gzip(*file));
  GzipReader reader(*file);
  std::string unpacked, piece(777, '\0');
  while (size_t count = reader.read(std::as_writable_bytes(std::span(piece))))
    unpacked.append(piece, 0, count);
  EXPECT_EQ(unpacked, content);
}

}  // namespace
}  // namespace stoker
