#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/random.h>

#include "base/file.h"
#include "formats/crc32c.h"

namespace stoker {
namespace {

uint32_t of(const std::string& text) { return crc32c(as_bytes(text)); }

std::string random_text(size_t length) {
  Rng rng(3);
  std::string text(length, '\0');
  for (char& letter : text) letter = char(rng.integer(0, 256));
  return text;
}

// The definition, bit by bit.
uint32_t slowly(std::span<const std::byte> bytes) {
  uint32_t crc = ~0U;
  for (std::byte byte : bytes) {
    crc ^= uint32_t(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

TEST(Crc32c, HasTheValuesOfRfc3720) {
  EXPECT_EQ(of(""), 0U);
  EXPECT_EQ(of("123456789"), 0xe3069283U);
  EXPECT_EQ(of(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(of(std::string(32, '\xff')), 0x62a8ab43U);
  std::string up, down;
  for (int i = 0; i < 32; ++i) up += char(i), down += char(31 - i);
  EXPECT_EQ(of(up), 0x46dd794eU);
  EXPECT_EQ(of(down), 0x113fdb5cU);
}

TEST(Crc32c, IsTheSameByTableAndByInstruction) {
  if (!has_crc32c_instruction()) GTEST_SKIP() << "this processor has no SSE 4.2";
  std::string text = random_text(40'000);
  std::span<const std::byte> bytes = as_bytes(text);
  std::vector<size_t> lengths = {767, 768, 769, 4'096, 12'287, 12'288, 12'289, 13'056, 39'000};
  for (size_t length = 0; length < 64; ++length) lengths.push_back(length);
  for (size_t length : lengths)
    for (size_t begin : {0, 1, 7, 64}) {
      auto piece = bytes.subspan(begin, length);
      uint32_t expected = slowly(piece);
      EXPECT_EQ(crc32c_by_table(piece), expected) << begin << " " << length;
      EXPECT_EQ(crc32c_by_instruction(piece), expected) << begin << " " << length;
    }
}

TEST(Crc32c, OfPiecesIsThatOfTheWhole) {
  std::string text = random_text(30'000);
  std::span<const std::byte> bytes = as_bytes(text);
  for (size_t cut : {0, 1, 8, 1'000, 12'288, 29'999, 30'000})
    EXPECT_EQ(crc32c(bytes.subspan(cut), crc32c(bytes.first(cut))), crc32c(bytes)) << cut;
}

TEST(Crc32c, IsMaskedAsTFRecordDoes) {
  // The beginning of TensorBoard's event files: a record of 24 bytes and the checksum of that
  // length.
  EXPECT_EQ(mask_crc32c(of(std::string("\x18\0\0\0\0\0\0\0", 8))), 0x224b7fa3U);
}

}  // namespace
}  // namespace stoker
