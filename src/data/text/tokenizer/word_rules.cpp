#include "data/text/tokenizer/word_rules.h"

#include <algorithm>
#include <utility>

#include "data/text/tokenizer/unicode.h"

namespace stoker::text {

namespace {

size_t run_of(std::u32string_view text, size_t begin, uint16_t kinds) {
  size_t at = begin;
  while (at < text.size() && is(text[at], kinds)) ++at;
  return at - begin;
}
size_t run_without(std::u32string_view text, size_t begin, uint16_t kinds) {
  size_t at = begin;
  while (at < text.size() && !is(text[at], kinds)) ++at;
  return at - begin;
}

bool is_line_end(char32_t code) { return code == U'\r' || code == U'\n'; }

// 's, 't, 'm, 'd, 're, 've, 'll; 0: none.
size_t contraction(std::u32string_view text, size_t begin, bool any_case) {
  auto letter = [&](size_t at) -> char32_t {
    if (at >= text.size()) return 0;
    char32_t code = text[at];
    if (any_case && code == 0x17F) return U's';  // ſ
    return any_case && code >= U'A' && code <= U'Z' ? code - U'A' + U'a' : code;
  };
  if (letter(begin) != U'\'') return 0;
  char32_t one = letter(begin + 1), two = letter(begin + 2);
  if (one == U's' || one == U't' || one == U'm' || one == U'd') return 2;
  bool long_one =
      (one == U'r' && two == U'e') || (one == U'v' && two == U'e') || (one == U'l' && two == U'l');
  return long_one ? 3 : 0;
}

// \s+(?!\S)|\s+: spaces before a word leave it the last one.
size_t spaces(std::u32string_view text, size_t begin) {
  size_t run = run_of(text, begin, kSpace);
  return begin + run < text.size() && run > 1 ? run - 1 : std::max<size_t>(run, 1);
}

// (?i:'s|…)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <size_t digits>
size_t line_wise_word(std::u32string_view text, size_t begin) {
  if (size_t length = contraction(text, begin, true)) return length;
  char32_t first = text[begin];
  if (is(first, kLetter)) return run_of(text, begin, kLetter);
  if (!is_line_end(first) && !is(first, kNumber))
    if (size_t letters = run_of(text, begin + 1, kLetter)) return 1 + letters;
  if (is(first, kNumber)) return std::min(run_of(text, begin, kNumber), digits);
  size_t space = first == U' ' ? 1 : 0;
  if (size_t others = run_without(text, begin + space, kSpace | kLetter | kNumber)) {
    size_t end = begin + space + others;
    while (end < text.size() && is_line_end(text[end])) ++end;
    return end - begin;
  }
  // \s*[\r\n]+ goes to the last end of a line in the run.
  size_t run = run_of(text, begin, kSpace);
  for (size_t length = run; length > 0; --length)
    if (is_line_end(text[begin + length - 1])) return length;
  return spaces(text, begin);
}

}  // namespace

size_t gpt2_word(std::u32string_view text, size_t begin) {
  if (size_t length = contraction(text, begin, false)) return length;
  size_t space = text[begin] == U' ' ? 1 : 0;
  for (uint16_t kind : {kLetter, kNumber})
    if (size_t run = run_of(text, begin + space, kind)) return space + run;
  if (size_t run = run_without(text, begin + space, kSpace | kLetter | kNumber)) return space + run;
  return spaces(text, begin);
}

WordRule known_rule(std::string_view regex) {
  static constexpr std::pair<std::string_view, WordRule> kRules[] = {
      {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", gpt2_word},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       line_wise_word<3>},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       line_wise_word<1>}};
  for (const auto& [known, rule] : kRules)
    if (known == regex) return rule;
  return nullptr;
}

}  // namespace stoker::text
