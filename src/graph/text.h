// Lists in messages.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

// "a, b, c": what `text` makes of each element.
template <class Range, class Text>
std::string list_text(const Range& range, Text&& text, std::string_view separator = ", ") {
  std::string list;
  for (const auto& element : range) {
    if (!list.empty()) list += separator;
    list += text(element);
  }
  return list;
}

}  // namespace stoker
