// Records as a table: where the fields of many records end, found by the vector kernels in one pass, so
// that columns can be read one after the other. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "formats/csv.h"
#include "formats/find_byte.h"

namespace stoker {

class CsvGrid {
 public:
  CsvGrid(const CsvFormat& format, size_t columns);

  // Looks at as many of the records as it has room for, at least one of them; rows() says how many.
  // Records lie one after the other in memory, which can be read from `readable` to the end of the last
  // one. False: they have another number of fields than `columns`, or quotes where only CsvFields
  // understands them.
  bool find(std::span<const std::string_view> records, const char* readable);
  size_t rows() const { return rows_; }

  // All of a field, quotes included.
  std::string_view field(size_t row, size_t column) const {
    const uint32_t* end = ends() + row * stride_ + column;
    uint32_t begin = end[-1] + 1;
    return {text_ + begin, end[0] - begin};
  }
  // A field without its quotes; none: CsvFields has to read it.
  std::optional<std::string_view> text(size_t row, size_t column) const {
    std::string_view all = field(row, column);
    if (!quotes_ || all.empty() || all[0] != format_.quote) return all;
    const char *begin = all.data() + 1, *close = begin + all.size() - 2;
    if (all.size() < 2 || *close != format_.quote) return {};
    if (doubled_ && find_either(begin, close, format_.quote, format_.quote) != close) return {};
    return std::string_view(begin, all.size() - 2);
  }
  bool has_quotes() const { return quotes_; }
  const char* end() const { return end_; }  // memory can be read up to there

  // The plain numbers of a column; the rows of the others, valid until the next call.
  std::span<const uint32_t> numbers(size_t column, const csv_scan::NumberTarget& target);

 private:
  uint32_t* ends() const { return memory_.get() + 1; }

  CsvFormat format_;
  size_t columns_, most_rows_;
  size_t
      stride_;  // ends of a row: of its fields, and of nothing in front of "\n" where "\r" ends the last
  std::unique_ptr<uint32_t[]> memory_;  // 2^32 - 1, then the ends
  std::unique_ptr<uint32_t[]> others_;
  const char* text_ = nullptr;
  const char* readable_ = nullptr;
  const char* end_ = nullptr;
  size_t rows_ = 0;
  bool quotes_ = false, doubled_ = false;
};

}  // namespace stoker
