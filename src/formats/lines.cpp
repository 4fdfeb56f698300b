#include "formats/lines.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/gzip.h"

namespace stoker {

namespace {

constexpr uint64_t kBlockBytes = 1 << 14;

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

[[noreturn]] void too_long(const std::string& path, uint64_t number, uint64_t most) {
  throw FileError(
      fmt::format("{}: line {} is longer than {} bytes; is it a text file?", path, number, most));
}

uint64_t mark_bytes(FileReader& file) {
  std::string mark(kByteOrderMark.size(), '\0');
  if (file.size() < mark.size()) return 0;
  file.read_exactly(0, std::as_writable_bytes(std::span(mark)));
  return mark == kByteOrderMark ? mark.size() : 0;
}

// Follows the ends of lines through a file and notes where blocks begin.
class BlockCutter {
 public:
  BlockCutter(std::string path, uint64_t begin, uint64_t most, RecordIndex& index)
      : path_(std::move(path)), most_(most), line_begin_(begin), index_(index) {
    index_.add(0, begin, 0);
  }
  void add(uint64_t offset, std::string_view bytes) {
    size_t at = 0;
    while (at < bytes.size()) {
      const void* found = std::memchr(bytes.data() + at, '\n', bytes.size() - at);
      uint64_t end =
          found == nullptr ? bytes.size() : size_t(static_cast<const char*>(found) - bytes.data());
      if (offset + end - line_begin_ > most_) too_long(path_, line_ + 1, most_);
      if (found == nullptr) return;
      at = end + 1;
      line_begin_ = offset + at;
      ++line_;
      index_.add(line_, line_begin_, line_);
    }
  }
  void finish(uint64_t size) {
    if (size > line_begin_) ++line_;  // the last one has no end
    index_.finish(line_, size);
  }

 private:
  std::string path_;
  uint64_t most_, line_ = 0, line_begin_;
  RecordIndex& index_;
};

}  // namespace

LineReader::LineReader(FileReader& file, const LineOptions& options)
    : TextBuffer(file, options.buffer_bytes), path_(file.path()), options_(options) {}

std::optional<std::string_view> LineReader::next() {
  size_t looked = 0;  // bytes behind begin_ that hold no end of a line
  while (true) {
    const char* begin = buffer_.data() + begin_;
    size_t there = end_ - begin_;
    const void* found =
        there == looked ? nullptr : std::memchr(begin + looked, '\n', there - looked);
    size_t length = found == nullptr ? there : size_t(static_cast<const char*>(found) - begin);
    if (length > options_.most_line_bytes) too_long(path_, number_ + 1, options_.most_line_bytes);
    if (found == nullptr && fill()) {
      looked = there;
      continue;
    }
    if (found == nullptr && there == 0) return {};
    begin = buffer_.data() + begin_;  // fill() may have moved it
    begin_ += length + (found == nullptr ? 0 : 1);
    ++number_;
    std::string_view line(begin, length);
    return found == nullptr ? line : without_return(line);
  }
}

RecordIndex index_lines(FileReader& file, const LineOptions& options) {
  if (is_gzip(file))
    throw ValueError(file.path() + " is compressed: its lines can only be read in order");
  uint64_t offset = mark_bytes(file);
  RecordIndex index(kBlockBytes);
  BlockCutter cutter(file.path(), offset, options.most_line_bytes, index);
  std::string buffer(std::max<size_t>(options.buffer_bytes, 1), '\0');
  while (size_t got = file.read_at(offset, std::as_writable_bytes(std::span(buffer)))) {
    cutter.add(offset, std::string_view(buffer).substr(0, got));
    offset += got;
  }
  cutter.finish(offset);
  return index;
}

void cut_lines(std::string_view block, std::vector<std::string_view>& lines) {
  lines.clear();
  while (!block.empty()) {
    size_t end = block.find('\n');
    if (end == std::string_view::npos) {
      lines.push_back(block);
      return;
    }
    lines.push_back(without_return(block.substr(0, end)));
    block.remove_prefix(end + 1);
  }
}

}  // namespace stoker
