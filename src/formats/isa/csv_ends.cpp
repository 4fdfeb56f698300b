// Where records and fields end.
#include "formats/isa/csv_bytes.h"
#include "formats/isa/csv_families.h"

namespace stoker::csv_scan::STOKER_ISA {

namespace {

#ifdef __AVX2__

// The places of the bits, behind `offset`. May write one place more than there are bits.
[[gnu::always_inline]] inline uint32_t* write_places(uint64_t bits, uint32_t offset,
                                                     uint32_t* places) {
  uint32_t* end = places + __builtin_popcountll(bits);
  while (places < end) {  // in pairs: half as many mispredicted ends
    places[0] = offset + uint32_t(__builtin_ctzll(bits));
    bits &= bits - 1;
    places[1] = offset + uint32_t(__builtin_ctzll(bits | uint64_t(1) << 63));
    bits &= bits - 1;
    places += 2;
  }
  return end;
}

// The same where there are many. May write 16 places more.
#ifdef __AVX512BW__
[[gnu::always_inline]] inline uint32_t* write_many_places(uint64_t bits, uint32_t offset,
                                                          uint32_t* places) {
  __m512i numbers =
      _mm512_add_epi32(_mm512_set1_epi32(int32_t(offset)),
                       _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  for (int group = 0; group < kChunk / 16; ++group) {
    auto some = uint16_t(bits >> 16 * group);
    _mm512_storeu_si512(places, _mm512_maskz_compress_epi32(some, numbers));
    places += __builtin_popcount(some);
    numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
  }
  return places;
}
#else
[[gnu::always_inline]] inline uint32_t* write_many_places(uint64_t bits, uint32_t offset,
                                                          uint32_t* places) {
  return write_places(bits, offset, places);
}
#endif

RecordEnds record_ends(const char* begin, const char* end, const LineMarks& marks, uint32_t* ends) {
  Quotes quotes(marks);
  uint64_t after_line = 1, after_return = 0, wrong = 0;
  uint32_t* next = ends;
  for_chunks(begin, end, [&](const char* at, const Chunk& chunk, uint64_t valid) {
    uint64_t lines = chunk.equal_to('\n'), returns = chunk.equal_to('\r');
    uint64_t quoted = quotes.inside(chunk, lines, at == begin ? '\n' : at[-1]);
    wrong |= (lines & quoted) | ((returns << 1 | after_return) & ~lines & valid);
    wrong |= (lines | returns) & (lines << 1 | after_line);  // a blank line
    after_line = lines >> 63;
    after_return = returns >> 63;
    next = write_places(lines, uint32_t(at - begin), next);
    return wrong == 0 && !quotes.wrong();
  });
  if (wrong != 0 || quotes.wrong()) return {0, false};
  return {size_t(next - ends), true};
}

FieldEnds field_ends(const char* begin, const char* end, const LineMarks& marks, uint32_t* ends,
                     size_t most) {
  Quotes quotes(marks);
  uint64_t ending = marks.returns ? ~uint64_t(0) : 0, wrong = 0;
  uint32_t *next = ends, *last = ends + most;
  for_chunks(begin, end, [&](const char* at, const Chunk& chunk, uint64_t) {
    uint64_t lines = chunk.equal_to('\n');
    uint64_t quoted = quotes.inside(chunk, lines, at == begin ? '\n' : at[-1]);
    uint64_t returns = chunk.equal_to('\r') & ~quoted;
    wrong |= returns & ~ending;
    uint64_t fields = (chunk.equal_to(marks.delimiter) | lines | returns) & ~quoted;
    next = write_many_places(fields, uint32_t(at - begin), next);
    return next <= last;
  });
  bool regular = next <= last && wrong == 0 && !quotes.wrong() && !quotes.open();
  return {size_t(next - ends), regular, quotes.seen(), quotes.doubled()};
}

#else

RecordEnds record_ends(const char*, const char*, const LineMarks&, uint32_t*) { return {0, false}; }
FieldEnds field_ends(const char*, const char*, const LineMarks&, uint32_t*, size_t) {
  return {0, false, false, false};
}

#endif

}  // namespace

void add_ends(Kernels& table) {
  table.record_ends = record_ends;
  table.field_ends = field_ends;
}

}  // namespace stoker::csv_scan::STOKER_ISA
