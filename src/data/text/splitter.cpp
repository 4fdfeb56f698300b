#include "data/text/splitter.h"

#include <array>

#include <fmt/format.h>

#include "base/utf8.h"

namespace stoker::text {

namespace {

constexpr bool is_space(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
constexpr bool is_letter(uint8_t byte) {
  return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}
constexpr bool is_punctuation(uint8_t byte) {
  return byte > ' ' && byte < 0x7F && !is_letter(byte) && !(byte >= '0' && byte <= '9');
}

// What becomes of each byte.
struct ByteRule {
  std::array<char, 256> becomes = {};
  std::array<bool, 256> stays = {};
};
constexpr ByteRule rule_for(bool lower, bool strip) {
  ByteRule rule;
  for (int value = 0; value < 256; ++value) {
    auto byte = uint8_t(value);
    bool capital = lower && byte >= 'A' && byte <= 'Z';
    rule.becomes[size_t(value)] = char(capital ? byte - 'A' + 'a' : byte);
    rule.stays[size_t(value)] = !(strip && is_punctuation(byte));
  }
  return rule;
}
constexpr ByteRule kLower = rule_for(true, false), kStrip = rule_for(false, true),
                   kBoth = rule_for(true, true);

void apply_rule(const ByteRule& rule, std::string_view text, std::string& out) {
  out.resize(text.size());
  char* to = out.data();
  for (char from : text) {
    *to = rule.becomes[uint8_t(from)];
    to += rule.stays[uint8_t(from)];
  }
  out.resize(size_t(to - out.data()));
}

void split_at_spaces(std::string_view text, std::vector<std::string_view>& tokens) {
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    while (at != end && is_space(uint8_t(*at))) ++at;
    if (at == end) return;
    const char* begin = at;
    while (at != end && !is_space(uint8_t(*at))) ++at;
    tokens.emplace_back(begin, size_t(at - begin));
  }
}

void split_characters(std::string_view text, std::vector<std::string_view>& tokens) {
  static constexpr std::string_view kUnreadable = "\xEF\xBF\xBD";
  while (!text.empty()) {
    Utf8Character next = first_character(text);
    tokens.push_back(next.valid ? text.substr(0, next.bytes) : kUnreadable);
    text.remove_prefix(next.bytes);
  }
}

}  // namespace

Ngrams::Ngrams(int64_t up_to) {
  if (up_to < 1 || up_to > 1000)
    throw ValueError(fmt::format("ngrams is {}, expected 1 to 1000", up_to));
  for (int64_t width = 1; width <= up_to; ++width) widths_.push_back(width);
}

Splitter::Splitter(const TextVectorizationOptions& options)
    : standardize_(options.standardize), split_(options.split), widths_(options.ngrams.widths()) {
  for (int64_t width : widths_)
    if (width < 1)
      throw ValueError(fmt::format("ngrams: a width is {}, expected at least 1", width));
  if (const auto* own = std::get_if<StandardizeFunction>(&standardize_); own != nullptr && !*own)
    throw ValueError("TextVectorization: the function standardize is empty");
  if (const auto* own = std::get_if<SplitFunction>(&split_); own != nullptr && !*own)
    throw ValueError("TextVectorization: the function split is empty");
}

void Splitter::standardize(std::string_view text, std::string& out) const {
  if (const auto* own = std::get_if<StandardizeFunction>(&standardize_)) {
    out = (*own)(text);
    return;
  }
  switch (std::get<Standardize>(standardize_)) {
    case Standardize::lower_and_strip_punctuation:
      return apply_rule(kBoth, text, out);
    case Standardize::lower:
      return apply_rule(kLower, text, out);
    case Standardize::strip_punctuation:
      return apply_rule(kStrip, text, out);
    case Standardize::none:
      out = text;
  }
}

void Splitter::split(std::string_view text, SplitScratch& scratch) const {
  if (const auto* own = std::get_if<SplitFunction>(&split_)) {
    scratch.own = (*own)(text);
    scratch.tokens.assign(scratch.own.begin(), scratch.own.end());
    return;
  }
  switch (std::get<Split>(split_)) {
    case Split::whitespace:
      return split_at_spaces(text, scratch.tokens);
    case Split::character:
      return split_characters(text, scratch.tokens);
    case Split::none:
      scratch.tokens.push_back(text);
  }
}

std::span<const std::string_view> Splitter::with_ngrams(SplitScratch& scratch) const {
  if (widths_.empty()) return scratch.tokens;
  const auto& tokens = scratch.tokens;
  scratch.ngrams.clear();
  scratch.joined.clear();
  auto count = int64_t(tokens.size());
  // Views into `joined` need it to stay where it is.
  size_t bytes = 0, all = 0;
  for (std::string_view token : tokens) all += token.size() + 1;
  for (int64_t width : widths_)
    if (width > 1 && width <= count) bytes += all * size_t(width);
  scratch.joined.reserve(bytes);
  for (int64_t width : widths_) {
    for (int64_t begin = 0; begin + width <= count; ++begin) {
      if (width == 1) {
        scratch.ngrams.push_back(tokens[size_t(begin)]);
        continue;
      }
      size_t from = scratch.joined.size();
      for (int64_t at = 0; at < width; ++at) {
        if (at > 0) scratch.joined += ' ';
        scratch.joined += tokens[size_t(begin + at)];
      }
      scratch.ngrams.emplace_back(scratch.joined.data() + from, scratch.joined.size() - from);
    }
  }
  return scratch.ngrams;
}

std::span<const std::string_view> Splitter::tokens(std::string_view text,
                                                   SplitScratch& scratch) const {
  scratch.tokens.clear();
  standardize(text, scratch.text);
  split(scratch.text, scratch);
  return with_ngrams(scratch);
}

std::span<const std::string_view> Splitter::tokens(std::span<const std::string> texts,
                                                   SplitScratch& scratch) const {
  scratch.tokens.clear();
  scratch.own.resize(texts.size());
  for (size_t at = 0; at < texts.size(); ++at) standardize(texts[at], scratch.own[at]);
  scratch.tokens.assign(scratch.own.begin(), scratch.own.end());
  return with_ngrams(scratch);
}

}  // namespace stoker::text
