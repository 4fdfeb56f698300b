#include "data/text/tokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "data/text/tokenizer/unicode_tables.h"

namespace stoker::text {

namespace {

constexpr uint32_t kCodes = 0x110000;

// One value per code, in pages of 256 that are shared where they are alike.
template <class T>
class Pages {
 public:
  explicit Pages(const std::vector<T>& values) {
    std::unordered_map<std::u32string, uint16_t> known;
    for (uint32_t page = 0; page < kCodes / 256; ++page) {
      auto begin = values.begin() + page * 256;
      auto [found, is_new] =
          known.try_emplace(std::u32string(begin, begin + 256), uint16_t(values_.size() / 256));
      if (is_new) values_.insert(values_.end(), begin, begin + 256);
      pages_[page] = found->second;
    }
  }
  T operator[](uint32_t code) const {
    return code < kCodes ? values_[size_t(pages_[code / 256]) * 256 + code % 256] : T();
  }

 private:
  std::array<uint16_t, kCodes / 256> pages_;
  std::vector<T> values_;
};

void mark_set(std::vector<uint16_t>& kinds, CharacterKind kind, const uint32_t* runs,
              size_t count) {
  uint32_t code = 0;
  for (size_t run = 0; run < count; ++run) {
    if (run % 2 == 1)
      for (uint32_t at = 0; at < runs[run]; ++at) kinds[code + at] |= kind;
    code += runs[run];
  }
}

Pages<uint16_t> make_kinds() {
  std::vector<uint16_t> kinds(kCodes);
  mark_set(kinds, kLetter, tables::letter, tables::letter_count);
  mark_set(kinds, kNumber, tables::number, tables::number_count);
  mark_set(kinds, kSpace, tables::space, tables::space_count);
  mark_set(kinds, kPunctuation, tables::punctuation, tables::punctuation_count);
  mark_set(kinds, kWord, tables::word, tables::word_count);
  mark_set(kinds, kDigit, tables::digit, tables::digit_count);
  mark_set(kinds, kMark, tables::mark, tables::mark_count);
  mark_set(kinds, kNonspacing, tables::nonspacing, tables::nonspacing_count);
  mark_set(kinds, kDropped, tables::dropped, tables::dropped_count);
  mark_set(kinds, kBlank, tables::blank, tables::blank_count);
  return Pages<uint16_t>(kinds);
}

Pages<int32_t> make_lower() {
  std::vector<int32_t> differences(kCodes);
  for (size_t at = 0; at < tables::lower_count; at += 4) {
    const int32_t* run = tables::lower + at;
    for (int32_t each = 0; each < run[1]; ++each)
      differences[size_t(run[0] + each * run[2])] = run[3];
  }
  return Pages<int32_t>(differences);
}

// Decompositions and compositions of pairs, and combining classes.
struct Forms {
  std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> parts;
  std::unordered_map<uint64_t, uint32_t> whole;
  std::vector<uint8_t> classes;

  Forms() {
    uint32_t code = 0;
    for (size_t at = 0; at < tables::pairs_count; at += 3) {
      code += tables::pairs[at] / 2;
      uint32_t first = tables::pairs[at + 1], second = tables::pairs[at + 2];
      parts[code] = {first, second};
      if (tables::pairs[at] % 2 == 1) whole[uint64_t(first) << 32 | second] = code;
    }
    for (size_t at = 0; at < tables::classes_count; at += 2)
      classes.insert(classes.end(), tables::classes[at], uint8_t(tables::classes[at + 1]));
  }
  uint8_t class_of(uint32_t code) const { return code < classes.size() ? classes[code] : 0; }
};

const Forms& forms() {
  static const Forms all;
  return all;
}

// Hangul syllables are arithmetic.
constexpr uint32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;
constexpr uint32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr uint32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

void decompose(uint32_t code, std::u32string& out) {
  if (code - kSyllables < kSyllableCount) {
    uint32_t index = code - kSyllables;
    out += char32_t(kLeads + index / (kVowelCount * kTailCount));
    out += char32_t(kVowels + index / kTailCount % kVowelCount);
    if (index % kTailCount > 0) out += char32_t(kTails + index % kTailCount);
    return;
  }
  auto found = forms().parts.find(code);
  if (found == forms().parts.end()) {
    out += char32_t(code);
    return;
  }
  decompose(found->second.first, out);
  if (found->second.second > 0) decompose(found->second.second, out);
}

// 0: the two do not compose.
uint32_t compose(uint32_t first, uint32_t second) {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount)
    return kSyllables + ((first - kLeads) * kVowelCount + second - kVowels) * kTailCount;
  bool open = first - kSyllables < kSyllableCount && (first - kSyllables) % kTailCount == 0;
  if (open && second - kTails - 1 < kTailCount - 1) return first + second - kTails;
  auto found = forms().whole.find(uint64_t(first) << 32 | second);
  return found == forms().whole.end() ? 0 : found->second;
}

}  // namespace

uint16_t kind_of(uint32_t code) {
  static const Pages<uint16_t> kinds = make_kinds();
  return kinds[code];
}

bool is_chinese(uint32_t code) {
  static constexpr std::pair<uint32_t, uint32_t> kRanges[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},  {0x20000, 0x2A6DF},
      {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return std::ranges::any_of(
      kRanges, [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::u32string decoded(std::string_view text) {
  std::u32string codes;
  codes.reserve(text.size());
  while (!text.empty()) {
    Utf8Character next = first_character(text);
    codes += char32_t(next.code);
    text.remove_prefix(next.bytes);
  }
  return codes;
}

std::string encoded(std::u32string_view codes) {
  std::string text;
  text.reserve(codes.size());
  for (char32_t code : codes) append_utf8(text, code);
  return text;
}

std::string lowercase(std::string_view text) {
  static const Pages<int32_t> differences = make_lower();
  constexpr uint32_t kDottedI = 0x130, kDot = 0x307;  // the one that becomes two
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    Utf8Character next = first_character(text);
    if (next.code == kDottedI) {
      result += 'i';
      append_utf8(result, kDot);
    } else {
      append_utf8(result, uint32_t(int32_t(next.code) + differences[next.code]));
    }
    text.remove_prefix(next.bytes);
  }
  return result;
}

std::u32string decomposed(std::u32string_view codes) {
  std::u32string out;
  for (char32_t code : codes) decompose(code, out);
  // Marks behind a character, by their class.
  auto begin = out.begin();
  while (begin != out.end()) {
    auto is_mark = [](char32_t code) { return forms().class_of(code) > 0; };
    begin = std::find_if(begin, out.end(), is_mark);
    auto end = std::find_if_not(begin, out.end(), is_mark);
    std::stable_sort(begin, end, [](char32_t a, char32_t b) {
      return forms().class_of(a) < forms().class_of(b);
    });
    begin = end;
  }
  return out;
}

std::u32string composed(std::u32string_view codes) {
  std::u32string in = decomposed(codes), out;
  constexpr size_t kNone = size_t(-1);
  size_t starter = kNone;
  int last = -1;  // the class of what stands between; -1: nothing
  for (char32_t code : in) {
    int own = forms().class_of(code);
    bool blocked = last >= own && last != -1;
    uint32_t whole = starter == kNone || blocked ? 0 : compose(out[starter], code);
    if (whole > 0) {
      out[starter] = char32_t(whole);
      continue;
    }
    if (own == 0) starter = out.size();
    last = own == 0 ? -1 : own;
    out += code;
  }
  return out;
}

}  // namespace stoker::text
