#include "formats/csv.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/find_byte.h"
#include "formats/gzip.h"

namespace stoker {

namespace {

// A line, or several where quotes hold line ends.
struct Piece {
  const char* end = nullptr;  // of what it holds, without its line end; null: not all of it is here
  const char* next = nullptr;
  uint64_t lines = 1;
  bool open = false;  // a quote is not closed
  bool record = true;
};

// Behind the quote that closes; null: it is not here.
const char* behind_quote(const char* at, const char* end, char quote, uint64_t& lines) {
  while (const auto* found = static_cast<const char*>(std::memchr(at, quote, size_t(end - at)))) {
    lines += uint64_t(std::count(at, found, '\n'));
    if (found + 1 == end || found[1] != quote) return found + 1;
    at = found + 2;
  }
  return nullptr;
}

Piece plain_line(const char* begin, const char* end) {
  const auto* found = static_cast<const char*>(std::memchr(begin, '\n', size_t(end - begin)));
  return found == nullptr ? Piece{} : Piece{.end = found, .next = found + 1};
}

Piece scan_record(const char* begin, const char* end, const CsvFormat& format) {
  char quote = format.quote == '\0' ? '\n' : format.quote;
  Piece piece;
  for (const char* at = begin;;) {
    at = find_either(at, end, '\n', quote);
    if (at == end) return piece;
    if (*at == '\n') {
      piece.end = at;
      piece.next = at + 1;
      return piece;
    }
    if (at != begin && at[-1] != format.delimiter) {
      ++at;
      continue;
    }
    at = behind_quote(at + 1, end, quote, piece.lines);
    if (at == nullptr) {
      piece.open = true;
      return piece;
    }
  }
}

// `last`: nothing follows `end`, which then ends the piece.
Piece scan_piece(const char* begin, const char* end, const CsvFormat& format, bool last) {
  bool comment = format.comment != '\0' && begin < end && *begin == format.comment;
  Piece piece = comment ? plain_line(begin, end) : scan_record(begin, end, format);
  if (last && piece.end == nullptr && !piece.open) piece.end = piece.next = end;
  if (piece.end != nullptr && piece.end > begin && piece.end[-1] == '\r') --piece.end;
  piece.record = !comment && piece.end != begin;
  return piece;
}

constexpr ptrdiff_t kLineBytes = 1 << 12;  // looked at together

// The next records, where each of them is a line and quotes stand around whole fields.
struct LineEnds {
  uint32_t ends[csv_scan::most_ends(kLineBytes)];
  size_t count;  // not 0

  bool find(const char* at, const char* end, const CsvFormat& format) {
    if (format.comment != '\0') return false;
    auto [found, regular] = csv_scan::kernels().record_ends(
        at, std::min(at + kLineBytes, end), {.delimiter = format.delimiter, .quote = format.quote},
        ends);
    count = found;
    return regular && count > 0;
  }
};

[[noreturn]] void bad_record(const std::string& path, uint64_t line, bool open, uint64_t most) {
  if (open)
    throw FileError(fmt::format(
        "{}: line {}: a quoted field is not closed; give use_quote_delim = false if quotes are "
        "ordinary text",
        path, line));
  throw FileError(fmt::format("{}: line {}: the record is longer than {} bytes; is it a text file?",
                              path, line, most));
}

}  // namespace

CsvReader::CsvReader(FileReader& file, const CsvReadOptions& options)
    : TextBuffer(file, options.buffer_bytes), path_(file.path()), options_(options) {
  if (options_.skip_first) next();
}

CsvReader::CsvReader(FileReader& file, const CsvReadOptions& options, uint64_t offset,
                     uint64_t lines)
    : TextBuffer(file, options.buffer_bytes, offset),
      path_(file.path()),
      options_(options),
      next_line_(lines + 1) {}

bool CsvReader::pass_line(uint64_t until) {
  while (end() < until) {
    const char *begin = buffer_.data() + begin_, *last = buffer_.data() + end_;
    const char* found = find_either(begin, last, '\n', '\n');
    begin_ = size_t(found - buffer_.data());
    if (found != last) {
      ++begin_;
      return true;
    }
    if (!fill()) return false;
  }
  return false;
}

std::optional<std::string_view> CsvReader::next() {
  bool last = false;
  while (true) {
    line_ = next_line_;
    offset_ = base_ + begin_;
    const char* begin = buffer_.data() + begin_;
    const char* end = buffer_.data() + end_;
    if (last && begin == end) return {};
    Piece piece = scan_piece(begin, end, options_.format, last);
    auto length = uint64_t((piece.end != nullptr ? piece.end : end) - begin);
    if (length > options_.most_record_bytes || (last && piece.open))
      bad_record(path_, line_, piece.open, options_.most_record_bytes);
    if (piece.end == nullptr) {
      last = !fill();
      continue;
    }
    begin_ = size_t(piece.next - buffer_.data());
    next_line_ += piece.lines;
    if (piece.record) return std::string_view(begin, size_t(piece.end - begin));
  }
}

bool CsvReader::index_lines(uint64_t until, RecordIndex& index, uint64_t& records) {
  LineEnds lines;
  if (options_.most_record_bytes < kLineBytes ||
      !lines.find(buffer_.data() + begin_, buffer_.data() + end_, options_.format))
    return false;
  uint64_t base = base_ + begin_;
  if (until - base < kLineBytes)  // those that begin before it
    lines.count = size_t(std::lower_bound(lines.ends, lines.ends + lines.count - 1,
                                          uint32_t(until - base - 1)) -
                         lines.ends) +
                  1;
  auto begin_of = [&](size_t line) { return line == 0 ? base : base + lines.ends[line - 1] + 1; };
  const uint32_t *first = lines.ends, *last = first + lines.count - 1;
  for (size_t line = 0; line < lines.count;) {
    index.add(records + line, begin_of(line), next_line_ - 1 + line);
    // The next block begins with the first record from there on.
    uint64_t near = index.next_block() - base;
    line = size_t(std::lower_bound(first + line, last, near - 1) - first) + 1;
  }
  begin_ += *last + 1;
  records += lines.count;
  next_line_ += lines.count;
  return true;
}

void CsvReader::index_until(uint64_t until, RecordIndex& index, uint64_t& records) {
  while (end() < until) {
    if (index_lines(until, index, records)) continue;
    // What the buffer holds, one by one.
    for (uint64_t here = base_ + end_; end() <= here && end() < until;) {
      if (!next()) return;
      index.add(records++, offset_, line_ - 1);
    }
  }
}

void cut_csv(std::string_view block, const CsvFormat& format,
             std::vector<std::string_view>& records) {
  records.clear();
  const char* at = block.data();
  const char* end = at + block.size();
  LineEnds lines;
  while (at < end) {
    if (lines.find(at, end, format)) {
      const char* begin = at;
      for (uint32_t place : std::span(lines.ends, lines.count)) {
        const char* stop = begin + place;
        records.emplace_back(at, size_t(stop - at) - size_t(stop[-1] == '\r'));
        at = stop + 1;
      }
      continue;
    }
    for (const char* until = std::min(at + kLineBytes, end); at < until;) {
      Piece piece = scan_piece(at, end, format, /*last=*/true);
      if (piece.end == nullptr) piece.end = piece.next = end;  // not what was indexed
      if (piece.record) records.emplace_back(at, size_t(piece.end - at));
      at = piece.next;
    }
  }
}

std::string_view CsvFields::quoted() {
  const char* begin = ++at_;
  bool doubled = false;
  const char* close = begin;
  while (true) {
    close = find_either(close, end_, format_.quote, format_.quote);
    if (close == end_) throw ValueError("a quoted field is not closed");
    if (close + 1 == end_ || close[1] != format_.quote) break;
    doubled = true;
    close += 2;
  }
  if (!ends_at(close + 1))
    throw ValueError(fmt::format(
        "a quoted field is followed by \"{}\" instead of a delimiter; a quote inside it is doubled",
        std::string_view(close + 1, std::min<size_t>(size_t(end_ - close - 1), 8))));
  std::string_view field(begin, size_t(close - begin));
  take(close + 1);
  if (!doubled) return field;
  unescaped_.clear();
  for (size_t i = 0; i < field.size(); ++i) {
    unescaped_ += field[i];
    if (field[i] == format_.quote) ++i;
  }
  return unescaped_;
}

std::optional<std::string_view> CsvFields::next() {
  if (done_) return {};
  if (format_.quote != '\0' && at_ < end_ && *at_ == format_.quote) return quoted();
  return take(find_either(at_, end_, format_.delimiter, format_.delimiter));
}

std::string csv_field(std::string_view text, const CsvFormat& format) {
  const char special[] = {format.delimiter, format.quote, '\n', '\r'};
  bool comment = format.comment != '\0' && text.starts_with(format.comment);
  if (!comment && text.find_first_of(std::string_view(special, 4)) == std::string_view::npos)
    return std::string(text);
  std::string field(1, format.quote);
  for (char c : text) field.append(c == format.quote ? 2 : 1, c);
  return field + format.quote;
}

}  // namespace stoker
