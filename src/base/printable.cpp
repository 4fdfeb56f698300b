#include "base/printable.h"

#include <cstdint>

#include <fmt/format.h>

namespace stoker {

namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

// No overlong forms, no surrogates, nothing beyond U+10FFFF.
Character first_of(std::string_view text) {
  auto byte = [&](size_t i) { return uint8_t(text[i]); };
  uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t code = lead & (0xFF >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  bool surrogate = code >= 0xD800 && code < 0xE000;
  if (overlong || surrogate || code > 0x10FFFF) return {};
  return {code, bytes};
}

bool turns_text(uint32_t code) {
  return code == 0x200E || code == 0x200F || code == 0x061C || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  return code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{{{:x}}}", code);
}

std::string cleaned(std::string_view text, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    Character next = first_of(text);
    size_t bytes = next.bytes > 0 ? next.bytes : 1;
    bool control = next.code < 0x20 || (next.code >= 0x7F && next.code < 0xA0);
    if (next.bytes == 0)
      result += fmt::format("\\x{:02x}", uint8_t(text[0]));
    else if ((control && kept.find(text[0]) == std::string_view::npos) || turns_text(next.code))
      result += escaped(next.code);
    else
      result += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    Character next = first_of(text);
    if (next.bytes == 0) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

std::string printable(std::string_view text) { return cleaned(text, ""); }
std::string printable_lines(std::string_view text) { return cleaned(text, "\n\t"); }

}  // namespace stoker
