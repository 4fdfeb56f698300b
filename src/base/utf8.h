// UTF-8, one character at a time: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stoker {

inline constexpr uint32_t kReplacement = 0xFFFD;

struct Utf8Character {
  uint32_t code = kReplacement;
  uint32_t bytes = 1;  // how many it takes; of invalid bytes, how many one U+FFFD stands for
  bool valid = false;
};

// The first character of a text that is not empty. Invalid bytes are cut into the longest pieces
// that could begin a character, as Unicode recommends and most decoders do.
inline Utf8Character first_character(std::string_view text) {
  auto lead = uint8_t(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {};
  uint32_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  uint32_t code = lead & (0xFFU >> (length + 1));
  for (uint32_t at = 1; at < length; ++at) {
    if (at == text.size()) return {kReplacement, at, false};
    auto byte = uint8_t(text[at]);
    if (byte < low || byte > high) return {kReplacement, at, false};
    code = code << 6 | (byte & 0x3FU);
    low = 0x80, high = 0xBF;
  }
  return {code, length, true};
}

inline void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += char(code);
    return;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  text += char((0xFF00U >> (more + 1) & 0xFFU) | code >> (6 * more));
  while (more-- > 0) text += char(0x80U | (code >> (6 * more) & 0x3FU));
}

// How many bytes from the beginning are valid: text.size() where all are.
size_t valid_utf8_bytes(std::string_view text);
// The text with U+FFFD in place of invalid bytes.
std::string repaired_utf8(std::string_view text);

}  // namespace stoker
