// Lines of a text file, plain or gzip. A line ends with "\n" or "\r\n", which are not part of it; the
// last one may have no end; empty lines count. A byte order mark of UTF-8 at the beginning is passed
// over. What the lines hold is not looked at.
//
// Files are not trusted: a line longer than most_line_bytes is a FileError that names its number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/record_index.h"
#include "formats/text_buffer.h"

namespace stoker {

struct LineOptions {
  uint64_t most_line_bytes = uint64_t(1) << 26;
  size_t buffer_bytes = size_t(1) << 18;  // read at a time
};

// Walks over the lines of a file. One thread at a time. Memory: a buffer, and the longest line.
class LineReader : TextBuffer {
 public:
  // The file must outlive it. Whether it is gzip is seen by its first bytes.
  explicit LineReader(FileReader& file, const LineOptions& options = {});

  // The next line, none at the end. Valid until the next call.
  std::optional<std::string_view> next();
  uint64_t number() const { return number_; }  // of the line that next() gave, from 1

 private:
  std::string path_;
  LineOptions options_;
  uint64_t number_ = 0;
};

// Where the lines of a plain file are, in blocks of 16 KiB: a thousandth of the file's size. Reads
// the file once. ValueError when it is gzip: it has no places to go to.
RecordIndex index_lines(FileReader& file, const LineOptions& options = {});

// The lines of a block, without their ends.
void cut_lines(std::string_view block, std::vector<std::string_view>& lines);

}  // namespace stoker
