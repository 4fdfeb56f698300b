// Names from outside (files, classes, layers) as text that is safe to show: control
// characters and what is not UTF-8 become escapes.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

bool is_utf8(std::string_view text);

// UTF-8 without control characters: "\x1b" for an escape character, "\n" for a line feed, "\xe9"
// for a byte that is not UTF-8, "\u{202e}" for marks that turn the direction of text. Everything
// else stays. Different bytes that are not UTF-8 stay different.
std::string printable(std::string_view text);
// The same for whole messages: line feeds and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace stoker
