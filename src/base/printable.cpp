#include "base/printable.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace stoker {

namespace {

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
    Utf8Character next = first_character(text);
    size_t bytes = next.valid ? next.bytes : 1;
    bool control = next.code < 0x20 || (next.code >= 0x7F && next.code < 0xA0);
    if (!next.valid)
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

bool is_utf8(std::string_view text) { return valid_utf8_bytes(text) == text.size(); }

std::string printable(std::string_view text) { return cleaned(text, ""); }
std::string printable_lines(std::string_view text) { return cleaned(text, "\n\t"); }

}  // namespace stoker
