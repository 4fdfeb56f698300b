// Records of CSV files (RFC 4180), plain or gzip: where they begin and end, and the fields in them.
//   - A record ends with "\n" or "\r\n"; the last one may have no end. A byte order mark of UTF-8 is
//     passed over, as are blank lines and lines that begin with the comment character.
//   - A field that begins with a quote ends with the next one that is not doubled; delimiters and
//     line ends are text in it, two quotes are one. Quotes inside other fields are text.
//
// Files are not trusted: a record longer than most_record_bytes, or a quote that is never closed, is a
// FileError with the line where the record begins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/isa/csv_kernels.h"
#include "formats/record_index.h"
#include "formats/text_buffer.h"

namespace stoker {

struct CsvFormat {
  char delimiter = ',';
  char quote = '"';     // '\0': none; a quote is text
  char comment = '\0';  // '\0': none
};

struct CsvReadOptions {
  CsvFormat format = {};
  bool skip_first = false;  // the first record, a header
  uint64_t most_record_bytes = uint64_t(1) << 26;
  size_t buffer_bytes = size_t(1) << 18;     // read at a time
  uint64_t piece_bytes = uint64_t(1) << 20;  // indexed at a time by one thread
};

// Walks over the records of a file. One thread at a time. Memory: a buffer, and the longest record.
class CsvReader : TextBuffer {
 public:
  // The file must outlive it. Whether it is gzip is seen by its first bytes.
  explicit CsvReader(FileReader& file, const CsvReadOptions& options = {});
  // From byte `offset` of a plain file on, which `lines` lines stand in front of.
  CsvReader(FileReader& file, const CsvReadOptions& options, uint64_t offset, uint64_t lines);

  // The next record without its line end, none at the end. Valid until the next call.
  std::optional<std::string_view> next();
  uint64_t line() const { return line_; }          // where the record begins, or failed; from 1
  uint64_t offset() const { return offset_; }      // the same in bytes, before compression
  uint64_t end() const { return base_ + begin_; }  // of what was given out

  uint64_t lines() const { return next_line_ - 1; }  // in front of end()

  // Passes over the rest of a line, whatever it holds, without counting it; false: there is no line end
  // before `until`.
  bool pass_line(uint64_t until);
  // Adds the records that begin before `until` to an index that has `records` of them.
  void index_until(uint64_t until, RecordIndex& index, uint64_t& records);

 private:
  // The same for the next lines of the buffer, where each of them is a record; false: they are not.
  bool index_lines(uint64_t until, RecordIndex& index, uint64_t& records);

  std::string path_;
  CsvReadOptions options_;
  uint64_t line_ = 0, next_line_ = 1, offset_ = 0;
};

// Where the records of a plain file are. Reads the file once, on all cores; the index does not depend on
// how many they are. ValueError when it is gzip.
RecordIndex index_csv(FileReader& file, const CsvReadOptions& options = {});

// The records of a block.
void cut_csv(std::string_view block, const CsvFormat& format,
             std::vector<std::string_view>& records);

// Walks over the fields of a record.
class CsvFields {
 public:
  CsvFields(std::string_view record, const CsvFormat& format)
      : at_(record.data()), end_(at_ + record.size()), format_(format) {}

  // The next field without its quotes, none behind the last; a record has at least one. Valid until
  // the next call. ValueError for text behind a closing quote.
  std::optional<std::string_view> next();

  // For those who read a field in place: where it begins, and the step over it when it was all of
  // the text up to `end`, a delimiter or the end of the record.
  const char* at() const { return at_; }
  const char* end() const { return end_; }
  bool done() const { return done_; }
  bool ends_at(const char* place) const { return place == end_ || *place == format_.delimiter; }
  std::string_view take(const char* end) {
    std::string_view field(at_, size_t(end - at_));
    done_ = end == end_;
    at_ = done_ ? end_ : end + 1;
    return field;
  }
  // Takes the fields from here on that are plain numbers, into row `row` of their targets, up to the
  // first that is not; how many. Memory can be read up to `readable`, at least to end().
  size_t take_numbers(std::span<const csv_scan::NumberTarget> targets, size_t row,
                      const char* readable) {
    auto [fields, next] = csv_scan::kernels().numbers({at_, end_, readable}, format_.delimiter,
                                                      targets.data(), targets.size(), row);
    if (fields == 0) return 0;
    done_ = next > end_;
    at_ = done_ ? end_ : next;
    return fields;
  }

 private:
  std::string_view quoted();

  const char* at_;
  const char* end_;
  CsvFormat format_;
  bool done_ = false;
  std::string unescaped_;
};

// A field as it is written: quoted where it has to be.
std::string csv_field(std::string_view text, const CsvFormat& format = {});

}  // namespace stoker
