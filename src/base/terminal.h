// Whether a stream is an interactive terminal, and how to write to it.
#pragma once

#include <iosfwd>

namespace stoker {

struct Terminal {
  bool live = false;    // lines may be drawn over; else every line stays
  bool colour = false;  // live, and NO_COLOR is not set
  int width = 80;       // columns, now
};

// Only standard output can be recognised as one.
Terminal terminal_of(const std::ostream* out);

// Goes to the beginning of the line and clears it.
inline constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace stoker
