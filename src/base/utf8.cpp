#include "base/utf8.h"

#include <cstring>

namespace stoker {

size_t valid_utf8_bytes(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080ULL;
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    if (text.size() - at >= sizeof(eight)) {
      std::memcpy(&eight, text.data() + at, sizeof(eight));
      if ((eight & kHighBits) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    Utf8Character next = first_character(text.substr(at));
    if (!next.valid) break;
    at += next.bytes;
  }
  return at;
}

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    size_t valid = valid_utf8_bytes(text);
    repaired += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) break;
    append_utf8(repaired, kReplacement);
    text.remove_prefix(first_character(text).bytes);
  }
  return repaired;
}

}  // namespace stoker
