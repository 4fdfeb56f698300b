#include "data/image/jpeg_entropy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "data/image/jpeg_handle.h"
#if __has_include(<jpegint.h>) && defined(LIBJPEG_TURBO_VERSION_NUMBER)
#define STOKER_OWN_ENTROPY_DECODER 1
extern "C" {
#include <jpegint.h>
}
#endif

namespace stoker::image {

#ifndef STOKER_OWN_ENTROPY_DECODER

struct JpegEntropy::State {};
JpegEntropy::JpegEntropy() = default;
JpegEntropy::~JpegEntropy() = default;
bool JpegEntropy::install(jpeg_decompress_struct&) { return false; }

#else

namespace {

constexpr int kLookBits = 11;
constexpr int kEndOfBlock = 80;  // as a run: beyond every coefficient
// An MCU has at most 10 blocks of 64 coefficients of 31 bits: so much may be read beyond the end
// before it is noticed.
constexpr size_t kPadding = 4096;

constexpr uint8_t kNaturalOrder[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// What the next kLookBits bits mean: value (16 bits) | kLong | run (7 bits) | length (8 bits).
// kLong: the value does not fit into the look; then its size is in place of the value, and length
// that of the code alone. kUnknown: the code itself does not fit, or does not exist.
constexpr int32_t kLong = 0x8000;
constexpr int32_t kUnknown = kLong;

// For blocks that are skipped: what one or two symbols with their values take together.
// ends (1 bit) | advance (7 bits) | length (8 bits); 0: not to be told from so few bits.
constexpr uint32_t kEnds = 0x8000;

struct Table {
  int32_t look[1 << kLookBits];
  uint16_t skip[1 << kLookBits];
  uint8_t code_length[1 << kLookBits];  // 0: unknown
  int32_t last_code[17];                // the largest code of each length, -1 where there is none
  int32_t first_symbol[17];             // symbol index minus code
  uint8_t symbols[256];
  uint8_t counts[17] = {};
  bool usable = false;

  bool build(const JHUFF_TBL* source, bool ac);

 private:
  void add(int symbol, int code, int length, bool ac);
  uint32_t skip_entry(uint32_t bits) const;
};

// A value of `size` bits as JPEG writes it: those without the top bit are negative.
int signed_value(int bits, int size) {
  return size > 0 && bits < 1 << (size - 1) ? bits - (1 << size) + 1 : bits;
}

void Table::add(int symbol, int code, int length, bool ac) {
  int size = ac ? symbol & 15 : symbol, run = ac ? symbol >> 4 : 0, rest = kLookBits - length;
  if (ac && size == 0 && run != 15) run = kEndOfBlock;
  for (int tail = 0; tail < 1 << rest; ++tail) {
    int32_t entry = 0;
    if (size <= rest) {
      int value = signed_value(tail >> (rest - size), size);
      entry = int32_t(uint32_t(value) << 16) | run << 8 | (length + size);
    } else {
      entry = size << 16 | kLong | run << 8 | length;
    }
    look[code << rest | tail] = entry;
    code_length[code << rest | tail] = uint8_t(length);
  }
}

uint32_t Table::skip_entry(uint32_t bits) const {
  uint32_t advance = 0, length = 0;
  for (int symbol = 0; symbol < 2 && length < kLookBits; ++symbol) {
    uint32_t rest = bits << length & ((1 << kLookBits) - 1);
    // A second code counts only where all its bits are in sight.
    bool known = code_length[rest] != 0 && code_length[rest] + length <= kLookBits;
    if (!known) break;
    int32_t entry = look[rest];
    length += uint32_t(entry & 63) + ((entry & kLong) != 0 ? uint32_t(entry >> 16) : 0);
    int run = entry >> 8 & 127;
    if (run == kEndOfBlock) return kEnds | advance << 8 | length;
    advance += uint32_t(run) + 1;
  }
  return advance << 8 | length;
}

bool Table::build(const JHUFF_TBL* source, bool ac) {
  if (source == nullptr) return false;
  bool same = usable && std::equal(counts, counts + 17, source->bits) &&
              std::equal(symbols, symbols + 256, source->huffval);
  if (same) return true;
  usable = false;
  std::copy(source->bits, source->bits + 17, counts);
  std::copy(source->huffval, source->huffval + 256, symbols);
  std::fill(look, look + (1 << kLookBits), kUnknown);
  std::fill(code_length, code_length + (1 << kLookBits), uint8_t(0));
  int code = 0, index = 0;
  for (int length = 1; length <= 16; ++length) {
    first_symbol[length] = index - code;
    for (int i = 0; i < counts[length]; ++i, ++index, ++code) {
      if (index > 255 || code >> length != 0) return false;
      if (!ac && symbols[index] > 11) return false;
      if (length <= kLookBits) add(symbols[index], code, length, ac);
    }
    last_code[length] = counts[length] != 0 ? code - 1 : -1;
    code <<= 1;
  }
  for (uint32_t bits = 0; ac && bits < 1 << kLookBits; ++bits)
    skip[bits] = uint16_t(skip_entry(bits));
  return usable = true;
}

// The bits of one interval, first ones on top.
struct Bits {
  const uint8_t* next = nullptr;
  uint64_t bits = 0;
  int count = 0;  // of those in `bits` that are certain

  // At least 56. What is shifted in beyond `count` is shifted in again by the next fill.
  void fill() {
    uint64_t eight;
    std::memcpy(&eight, next, 8);
    bits |= __builtin_bswap64(eight) >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  uint32_t look() const { return uint32_t(bits >> (64 - kLookBits)); }
  void drop(int length) {
    bits <<= length;
    count -= length;
  }
  int take(int size) {  // 1 … 15 bits, signed
    int value = int(bits >> (64 - size));
    int64_t negative = ~(int64_t(bits) >> 63);
    drop(size);
    return value + int(negative & (1 - (1 << size)));
  }
  // The symbol of a code of any length; -1 when there is none.
  int symbol(const Table& table) {
    for (int length = 1; length <= 16; ++length) {
      int code = int(bits >> (64 - length));
      if (code > table.last_code[length]) continue;
      drop(length);
      return table.symbols[(code + table.first_symbol[length]) & 255];
    }
    return -1;
  }
};

// Inlined into the loop over blocks, so that the bits stay in registers.
#define STOKER_INLINE inline __attribute__((always_inline))

// The difference of a DC coefficient to the one before. False: irregular.
STOKER_INLINE bool decode_dc(Bits& bits, const Table& table, int& difference) {
  bits.fill();
  int32_t entry = table.look[bits.look()];
  if (__builtin_expect((entry & kLong) == 0, 1)) {
    bits.drop(entry & 63);
    difference = entry >> 16;
    return true;
  }
  int size = bits.symbol(table);
  difference = size > 0 ? bits.take(size) : 0;
  return size >= 0;
}

// AC coefficients from 1 on. False: irregular.
STOKER_INLINE bool decode_ac(Bits& bits, const Table& table, JCOEF* block) {
  int k = 1;
  while (k < 64) {
    bits.fill();
#pragma GCC unroll 5
    for (int step = 0; step < 5; ++step) {  // 5 · 11 bits ≤ 56
      int32_t entry = table.look[bits.look()];
      if (__builtin_expect((entry & kLong) != 0, 0)) {
        bits.fill();
        int symbol = entry >> 16 != 0 ? (entry >> 8 & 15) << 4 | entry >> 16 : -1;
        if (symbol >= 0)
          bits.drop(entry & 63);
        else
          symbol = bits.symbol(table);
        int size = symbol & 15;
        k += symbol >> 4;
        if (symbol < 0 || (size == 0 && symbol != 0 && symbol != 0xF0)) return false;
        if (symbol == 0) return true;
        if (k > 63) return false;
        if (size > 0) block[kNaturalOrder[k]] = JCOEF(bits.take(size));
        ++k;
        break;
      }
      bits.drop(entry & 63);
      k += entry >> 8 & 127;
      if (k > 62) {
        if (k == 63) block[63] = JCOEF(entry >> 16);
        return k == 63 || k >= kEndOfBlock;
      }
      block[kNaturalOrder[k++]] = JCOEF(entry >> 16);
    }
  }
  return true;
}

// The same without keeping anything.
STOKER_INLINE bool skip_ac(Bits& bits, const Table& table) {
  int k = 1;
  while (k < 64) {
    bits.fill();
    for (int step = 0; step < 2; ++step) {  // 2 · 26 bits ≤ 56
      uint32_t entry = table.skip[bits.look()];
      int next = k + int(entry >> 8 & 127);
      if (__builtin_expect(entry == 0 || next > 63, 0)) {  // one by one
        bits.fill();
        int symbol = bits.symbol(table), size = symbol & 15;
        if (symbol == 0) return true;
        if (symbol < 0 || (size == 0 && symbol != 0xF0)) return false;
        k += (symbol >> 4) + 1;
        if (k > 64) return false;
        bits.drop(size);
        break;
      }
      bits.drop(int(entry & 63));
      k = next;
      if ((entry & kEnds) != 0) return true;
    }
  }
  return true;
}

}  // namespace

struct JpegEntropy::State {
  Table dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
  std::vector<uint8_t> data;      // without stuffed zeros and markers
  std::vector<size_t> intervals;  // where each interval begins in it, and the end of the last
  size_t interval = 0;            // the one after that which is being read
  Bits bits;
  const uint8_t* end = nullptr;  // of the interval
  int last_dc[MAX_COMPS_IN_SCAN] = {};
  unsigned to_go = 0;     // MCUs of the interval
  unsigned per_row = 0;   // intervals in a row of MCUs; 0: they do not divide it
  bool skipping = false;  // the interval is outside the wanted region
  unsigned column = 0;    // of the next MCU

  bool unstuff(const uint8_t* from, const uint8_t* to);
  bool find_tables(const jpeg_decompress_struct& info);
  bool begin_interval(const jpeg_decompress_struct& info, bool wanted);
  bool decode(const jpeg_decompress_struct& info, JBLOCKROW* blocks);
  template <bool Wanted>
  bool decode_blocks(const jpeg_decompress_struct& info, JBLOCKROW* blocks);
  bool overrun() const { return bits.next - end > 0 && (bits.next - end) * 8 > bits.count; }
};

// Copies the scan without its stuffing, and notes its restart markers, which have to count up.
bool JpegEntropy::State::unstuff(const uint8_t* from, const uint8_t* to) {
  size_t most = size_t(to - from) + kPadding;
  if (data.size() < most) data.resize(most);
  intervals.assign(1, 0);
  uint8_t* out = data.data();
  bool ended = false;
  while (!ended && from < to) {
    const auto* mark = static_cast<const uint8_t*>(std::memchr(from, 0xFF, size_t(to - from)));
    const uint8_t* stop = mark != nullptr ? mark : to;
    out = std::copy(from, stop, out);
    if (mark == nullptr || mark + 1 == to) break;
    from = mark + 2;
    if (mark[1] == 0) {
      *out++ = 0xFF;
    } else if (mark[1] >= 0xD0 && mark[1] <= 0xD7) {
      if (mark[1] != 0xD0 + (intervals.size() - 1) % 8) return false;
      intervals.push_back(size_t(out - data.data()));
    } else {
      ended = true;
    }
  }
  intervals.push_back(size_t(out - data.data()));
  std::memset(out, 0, kPadding);
  return ended;  // libjpeg reads ahead, and complains about data that no marker ends
}

bool JpegEntropy::State::find_tables(const jpeg_decompress_struct& info) {
  for (int i = 0; i < info.comps_in_scan; ++i) {
    const jpeg_component_info& component = *info.cur_comp_info[i];
    int d = component.dc_tbl_no, a = component.ac_tbl_no;
    if (d < 0 || d >= NUM_HUFF_TBLS || a < 0 || a >= NUM_HUFF_TBLS) return false;
    if (!dc[d].build(info.dc_huff_tbl_ptrs[d], false)) return false;
    if (!ac[a].build(info.ac_huff_tbl_ptrs[a], true)) return false;
  }
  return true;
}

// False when the last interval was longer than its MCUs, or there is no further one.
bool JpegEntropy::State::begin_interval(const jpeg_decompress_struct& info, bool wanted) {
  bool first = interval == 0;
  if (!first && !skipping && (end - bits.next) * 8 + bits.count >= 8) return false;
  if (interval + 1 >= intervals.size()) return false;
  bits = {data.data() + intervals[interval], 0, 0};
  end = data.data() + intervals[interval + 1];
  std::fill(last_dc, last_dc + MAX_COMPS_IN_SCAN, 0);
  to_go = info.restart_interval;
  skipping = false;
  if (per_row > 0) {
    unsigned first_column = unsigned(interval % per_row) * info.restart_interval;
    skipping = !wanted || first_column > info.master->last_iMCU_col ||
               first_column + info.restart_interval <= info.master->first_iMCU_col;
  }
  ++interval;
  return true;
}

template <bool Wanted>
bool JpegEntropy::State::decode_blocks(const jpeg_decompress_struct& info, JBLOCKROW* blocks) {
  Bits local = bits;
  for (int block = 0; block < info.blocks_in_MCU; ++block) {
    int index = info.MCU_membership[block];
    const jpeg_component_info& component = *info.cur_comp_info[index];
    const Table& ac_table = ac[component.ac_tbl_no];
    int difference = 0;
    if (!decode_dc(local, dc[component.dc_tbl_no], difference)) return false;
    int value = last_dc[index] += difference;
    if (value != JCOEF(value)) return false;
    if constexpr (Wanted) {
      (*blocks[block])[0] = JCOEF(value);
      if (!decode_ac(local, ac_table, *blocks[block])) return false;
    } else {
      if (!skip_ac(local, ac_table)) return false;
    }
  }
  bits = local;
  return !overrun();
}

bool JpegEntropy::State::decode(const jpeg_decompress_struct& info, JBLOCKROW* blocks) {
  unsigned current = column;
  column = current + 1 == info.MCUs_per_row ? 0 : current + 1;
  if (info.restart_interval != 0) {
    if (to_go == 0 && !begin_interval(info, blocks != nullptr)) return false;
    --to_go;
    if (skipping) return true;
  }
  // libjpeg transforms these columns only (decompress_onepass).
  bool wanted = blocks != nullptr && current >= info.master->first_iMCU_col &&
                current <= info.master->last_iMCU_col;
  return wanted ? decode_blocks<true>(info, blocks) : decode_blocks<false>(info, blocks);
}

JpegEntropy::JpegEntropy() : state_(std::make_unique<State>()) {}
JpegEntropy::~JpegEntropy() = default;

bool JpegEntropy::install(jpeg_decompress_struct& info) {
  if (info.progressive_mode || info.arith_code || jpeg_has_multiple_scans(&info) ||
      info.data_precision != 8)
    return false;
  State& state = *state_;
  const uint8_t* from = info.src->next_input_byte;
  if (!state.find_tables(info) || !state.unstuff(from, from + info.src->bytes_in_buffer))
    return false;
  unsigned restart = info.restart_interval;
  if (restart == 0 && state.intervals.size() != 2) return false;
  state.interval = 0;
  state.to_go = 0;
  state.skipping = false;
  state.column = 0;
  state.per_row =
      restart != 0 && info.MCUs_per_row % restart == 0 ? info.MCUs_per_row / restart : 0;
  if (restart == 0 && !state.begin_interval(info, true)) return false;
  info.client_data = &state;
  info.entropy->decode_mcu = [](j_decompress_ptr decoder, JBLOCKROW* blocks) -> boolean {
    auto& current = *static_cast<State*>(decoder->client_data);
    if (!current.decode(*decoder, blocks))
      leave_jpeg(reinterpret_cast<j_common_ptr>(decoder), "irregular entropy-coded data");
    return TRUE;
  };
  return true;
}

#endif

}  // namespace stoker::image
