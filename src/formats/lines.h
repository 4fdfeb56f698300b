// Lines of a text file, plain or gzip. A line ends with "\n" or "\r\n", which are not part of it; the
// last one may have no end; empty lines count. A byte order mark of UTF-8 at the beginning is passed
// over. What the lines hold is not looked at.
//
// Files are not trusted: a line longer than most_line_bytes is a FileError that names its number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace stoker {

struct LineOptions {
  uint64_t most_line_bytes = uint64_t(1) << 26;
  size_t buffer_bytes = size_t(1) << 18;  // read at a time
};

// Walks over the lines of a file. One thread at a time. Memory: a buffer, and the longest line.
class LineReader {
 public:
  // The file must outlive it. Whether it is gzip is seen by its first bytes.
  explicit LineReader(FileReader& file, const LineOptions& options = {});
  ~LineReader();

  // The next line, none at the end. Valid until the next call.
  std::optional<std::string_view> next();
  uint64_t number() const { return number_; }  // of the line that next() gave, from 1

 private:
  class Source;
  bool fill();  // false: the file has ended

  std::string path_;
  LineOptions options_;
  std::unique_ptr<Source> source_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;  // what is read and not yet given out
  uint64_t number_ = 0;
};

// Where the lines of a plain file are: one entry per block of whole lines, of 16 KiB or one long
// line. A thousandth of the file's size.
struct LineBlock {
  uint64_t line = 0, offset = 0;  // of its first line; lines count from 0
  friend bool operator==(const LineBlock&, const LineBlock&) = default;
};
class LineIndex {
 public:
  // Reads the file once. ValueError when it is gzip: it has no places to go to.
  explicit LineIndex(FileReader& file, const LineOptions& options = {});

  uint64_t lines() const { return blocks_.back().line; }
  size_t blocks() const { return blocks_.size() - 1; }
  size_t block_of(uint64_t line) const;
  uint64_t first_line(size_t block) const { return blocks_[block].line; }
  uint64_t bytes(size_t block) const { return blocks_[block + 1].offset - blocks_[block].offset; }
  // The block's bytes, into memory that is used again. From any thread.
  void read(FileReader& file, size_t block, std::string& bytes) const;

 private:
  std::vector<LineBlock> blocks_;  // the last one is the end of the file
};

// The lines of a block, without their ends.
void cut_lines(std::string_view block, std::vector<std::string_view>& lines);

}  // namespace stoker
