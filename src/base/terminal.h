// Whether a stream is a terminal that somebody watches, and how it may be written to.
#pragma once

#include <iosfwd>

namespace stoker {

struct Terminal {
  bool live = false;    // lines may be drawn over; else every line stays
  bool colour = false;  // live, and NO_COLOR is not set
  int width = 80;       // columns, now
};

// Standard output alone can be one: of another stream nobody can know.
Terminal terminal_of(const std::ostream* out);

// Goes to the beginning of the line and clears it.
inline constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace stoker
