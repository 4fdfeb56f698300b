// Bytes of CSV in vectors: 64 at a time as masks with one bit per byte, the lowest for the first.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "formats/isa/csv_kernels.h"

namespace stoker::csv_scan::STOKER_ISA {

constexpr int kChunk = 64;

#ifdef __AVX512BW__

class Chunk {
 public:
  [[gnu::always_inline]] explicit Chunk(const char* from) : bytes_(_mm512_loadu_si512(from)) {}
  [[gnu::always_inline]] uint64_t equal_to(char byte) const {
    return _mm512_cmpeq_epi8_mask(bytes_, _mm512_set1_epi8(byte));
  }

 private:
  __m512i bytes_;
};

#else

class Chunk {
 public:
  [[gnu::always_inline]] explicit Chunk(const char* from)
      : low_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))),
        high_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + kChunk / 2))) {}
  [[gnu::always_inline]] uint64_t equal_to(char byte) const {
    const __m256i wanted = _mm256_set1_epi8(byte);
    return uint64_t(uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low_, wanted)))) |
           uint64_t(uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high_, wanted)))) << 32;
  }

 private:
  __m256i low_, high_;
};

#endif

// Calls look(at, chunk, valid) for every 64 bytes of [begin, end) until it says false. Bytes behind `end`
// are 0, not `valid`, and not read.
template <class Look>
[[gnu::always_inline]] inline void for_chunks(const char* begin, const char* end, Look look) {
  const char* at = begin;
  for (; end - at >= kChunk; at += kChunk)
    if (!look(at, Chunk(at), ~uint64_t(0))) return;
  if (at == end) return;
  char copy[kChunk];
  memset(copy, 0, sizeof copy);
  memcpy(copy, at, size_t(end - at));
  look(at, Chunk(copy), (uint64_t(1) << (end - at)) - 1);
}

// Quotes, chunk by chunk: which bytes lie inside of them, and whether they stand around whole fields.
class Quotes {
 public:
  explicit Quotes(const LineMarks& marks) : marks_(marks) {}

  // Bit per byte: it lies in quotes; of a quote, that it opens. `lines`: the line ends of the chunk.
  // `before`: the byte in front of the chunk.
  [[gnu::always_inline]] uint64_t inside(const Chunk& chunk, uint64_t lines, char before) {
    uint64_t quotes = marks_.quote == '\0' ? 0 : chunk.equal_to(marks_.quote);
    if (quotes == 0) return inside_;
    seen_ = true;
    doubled_ |= quotes & (quotes << 1 | uint64_t(before == marks_.quote));
    uint64_t quoted = inside_ ^ running_parity(quotes);
    inside_ = uint64_t(int64_t(quoted) >> 63);
    // One that opens follows a delimiter, a line end, or the one that it is doubled with.
    uint64_t openers = chunk.equal_to(marks_.delimiter) | lines | quotes;
    bool opened = before == marks_.delimiter || before == '\n' || before == marks_.quote;
    wrong_ |= quotes & quoted & ~(openers << 1 | uint64_t(opened));
    return quoted;
  }
  bool wrong() const { return wrong_ != 0; }
  bool seen() const { return seen_; }
  bool doubled() const { return doubled_ != 0; }  // two next to each other
  bool open() const { return inside_ != 0; }      // behind the last chunk

 private:
  // Bit i: how many of bits 0 … i are set, modulo 2.
  [[gnu::always_inline]] static uint64_t running_parity(uint64_t bits) {
    for (int shift = 1; shift < kChunk; shift *= 2) bits ^= bits << shift;
    return bits;
  }

  LineMarks marks_;
  uint64_t inside_ = 0;  // all bits: the next chunk begins in quotes
  uint64_t wrong_ = 0, doubled_ = 0;
  bool seen_ = false;
};

}  // namespace stoker::csv_scan::STOKER_ISA
#endif
