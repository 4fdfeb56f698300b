// A piece of a text file in memory, for readers that look for the ends of lines and records in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/byte_source.h"

namespace stoker {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8

class TextBuffer {
 protected:
  // Begins behind a byte order mark, or at byte `offset` of a plain file. The file must outlive it.
  // `buffer_bytes`: how much is read at a time.
  TextBuffer(FileReader& file, size_t buffer_bytes, uint64_t offset = 0);

  // Drops what was given out and reads on; false: the file has ended.
  bool fill();

  std::string buffer_;
  size_t begin_ = 0, end_ = 0;  // what is read and not yet given out
  uint64_t base_ = 0;           // the place of buffer_[0] in the file, before compression

 private:
  ByteSource source_;
  size_t buffer_bytes_;
};

}  // namespace stoker
