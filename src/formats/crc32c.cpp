#include "formats/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace stoker {

namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, bits reversed

constexpr uint32_t after_zero_byte(uint32_t crc) {
  for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
  return crc;
}

// [n][b]: what byte b leaves behind after n more bytes of zeros.
using SlicingTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr SlicingTables make_slicing_tables() {
  SlicingTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    tables[0][byte] = after_zero_byte(byte);
    for (size_t zeros = 1; zeros < 8; ++zeros)
      tables[zeros][byte] = after_zero_byte(tables[zeros - 1][byte]);
  }
  return tables;
}

constexpr SlicingTables kSlicing = make_slicing_tables();

uint64_t load_word(const std::byte* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

}  // namespace

uint32_t crc32c_by_table(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t crc = ~before;
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word = load_word(at) ^ crc;
    crc = 0;
    for (size_t byte = 0; byte < 8; ++byte) crc ^= kSlicing[7 - byte][word >> 8 * byte & 0xff];
  }
  for (; left > 0; --left, ++at) crc = crc >> 8 ^ kSlicing[0][(crc ^ uint32_t(*at)) & 0xff];
  return ~crc;
}

#if defined(__x86_64__)

namespace {

// A checksum after so many zero bytes is linear in the checksum: [n][b] is the share of byte n.
using ShiftTables = std::array<std::array<uint32_t, 256>, 4>;

constexpr uint32_t multiply(const std::array<uint32_t, 32>& matrix, uint32_t vector) {
  uint32_t sum = 0;
  for (size_t bit = 0; bit < 32; ++bit)
    if (vector >> bit & 1) sum ^= matrix[bit];
  return sum;
}

// `zeros` is a power of two.
constexpr ShiftTables make_shift_tables(size_t zeros) {
  std::array<uint32_t, 32> matrix{};
  for (size_t bit = 0; bit < 32; ++bit) matrix[bit] = after_zero_byte(uint32_t(1) << bit);
  for (; zeros > 1; zeros /= 2) {
    std::array<uint32_t, 32> squared{};
    for (size_t bit = 0; bit < 32; ++bit) squared[bit] = multiply(matrix, matrix[bit]);
    matrix = squared;
  }
  ShiftTables tables{};
  for (uint32_t byte = 0; byte < 4; ++byte)
    for (uint32_t value = 0; value < 256; ++value)
      tables[byte][value] = multiply(matrix, value << 8 * byte);
  return tables;
}

constexpr size_t kLong = 4096, kShort = 256;
constexpr ShiftTables kLongShift = make_shift_tables(kLong);
constexpr ShiftTables kShortShift = make_shift_tables(kShort);

uint32_t shift(const ShiftTables& tables, uint64_t crc) {
  return tables[0][crc & 0xff] ^ tables[1][crc >> 8 & 0xff] ^ tables[2][crc >> 16 & 0xff] ^
         tables[3][crc >> 24 & 0xff];
}

// The instruction takes three cycles but can start every cycle: three neighbouring blocks at a
// time, put together at their end.
template <size_t kBlock>
__attribute__((target("sse4.2"))) uint64_t three_blocks(uint64_t first, const std::byte* at,
                                                        const ShiftTables& tables) {
  uint64_t second = 0, third = 0;
  for (const std::byte* end = at + kBlock; at < end; at += 8) {
    first = _mm_crc32_u64(first, load_word(at));
    second = _mm_crc32_u64(second, load_word(at + kBlock));
    third = _mm_crc32_u64(third, load_word(at + 2 * kBlock));
  }
  second ^= shift(tables, first);
  return third ^ shift(tables, second);
}

}  // namespace

__attribute__((target("sse4.2"))) uint32_t crc32c_by_instruction(std::span<const std::byte> bytes,
                                                                 uint32_t before) {
  uint64_t crc = uint32_t(~before);
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 3 * kLong; left -= 3 * kLong, at += 3 * kLong)
    crc = three_blocks<kLong>(crc, at, kLongShift);
  for (; left >= 3 * kShort; left -= 3 * kShort, at += 3 * kShort)
    crc = three_blocks<kShort>(crc, at, kShortShift);
  for (; left >= 8; left -= 8, at += 8) crc = _mm_crc32_u64(crc, load_word(at));
  auto last = uint32_t(crc);
  for (; left > 0; --left, ++at) last = _mm_crc32_u8(last, uint8_t(*at));
  return ~last;
}

bool has_crc32c_instruction() {
  static const bool has = __builtin_cpu_supports("sse4.2");
  return has;
}

#else

uint32_t crc32c_by_instruction(std::span<const std::byte> bytes, uint32_t before) {
  return crc32c_by_table(bytes, before);
}
bool has_crc32c_instruction() { return false; }

#endif

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
  return has_crc32c_instruction() ? crc32c_by_instruction(bytes, before)
                                  : crc32c_by_table(bytes, before);
}

}  // namespace stoker
