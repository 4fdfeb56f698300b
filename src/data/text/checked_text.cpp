#include "data/text/checked_text.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace stoker::data {

std::string_view name_of(InvalidUtf8 policy) {
  if (policy == InvalidUtf8::fail) return "fail";
  return policy == InvalidUtf8::replace ? "replace" : "keep";
}

void check_text(std::string& text, InvalidUtf8 policy) {
  if (policy == InvalidUtf8::keep) return;
  size_t valid = valid_utf8_bytes(text);
  if (valid == text.size()) return;
  if (policy == InvalidUtf8::fail)
    throw ValueError(fmt::format(
        "byte {} is 0x{:02x}, which is not UTF-8 there; convert the file, or set .invalid_utf8 to "
        "InvalidUtf8::replace (U+FFFD in its place) or InvalidUtf8::keep",
        valid, uint8_t(text[valid])));
  text = repaired_utf8(text);
}

}  // namespace stoker::data
