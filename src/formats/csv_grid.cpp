#include "formats/csv_grid.h"

#include <algorithm>
#include <limits>

namespace stoker {

namespace {

constexpr size_t kGridFields = 1 << 12;  // looked at together: 16 KiB of ends, about 40 KB of text

}  // namespace

CsvGrid::CsvGrid(const CsvFormat& format, size_t columns)
    : format_(format),
      columns_(columns),
      most_rows_(std::max<size_t>(kGridFields / columns, 1)),
      stride_(columns),
      memory_(std::make_unique_for_overwrite<uint32_t[]>(
          1 + csv_scan::room_for_ends((columns + 1) * most_rows_))),
      others_(std::make_unique_for_overwrite<uint32_t[]>(most_rows_)) {
  memory_[0] = std::numeric_limits<uint32_t>::max();
}

bool CsvGrid::find(std::span<const std::string_view> records, const char* readable) {
  rows_ = std::min(records.size(), most_rows_);
  text_ = records[0].data();
  readable_ = readable;
  end_ = records.back().data() + records.back().size();
  const char* end = records[rows_ - 1].data() + records[rows_ - 1].size();
  if (end - text_ >= std::numeric_limits<int32_t>::max()) return false;
  bool returns = rows_ > 1 && records[0].data()[records[0].size()] == '\r';
  stride_ = columns_ + (returns ? 1 : 0);
  size_t all = rows_ * stride_, inner = all - (returns ? 2 : 1);  // the last row ends with the text
  auto found = csv_scan::kernels().field_ends(
      text_, end, {.delimiter = format_.delimiter, .quote = format_.quote, .returns = returns},
      ends(), all);
  if (!found.regular || found.count != inner) return false;
  for (size_t i = inner; i < all; ++i) ends()[i] = uint32_t(end - text_);
  quotes_ = found.quotes;
  doubled_ = found.doubled;
  // A line between two records, or a record with other fields, moves the fields behind it; both together
  // may move them back.
  for (size_t row = 0; row < rows_; ++row) {
    const uint32_t* first = ends() + row * stride_;
    if (text_ + uint32_t(first[-1] + 1) != records[row].data() ||
        text_ + first[columns_ - 1] != records[row].data() + records[row].size())
      return false;
  }
  return true;
}

std::span<const uint32_t> CsvGrid::numbers(size_t column, const csv_scan::NumberTarget& target) {
  csv_scan::ColumnText text{text_, readable_, ends(), stride_, rows_};
  return {others_.get(), csv_scan::kernels().column_numbers(text, column, target, others_.get())};
}

}  // namespace stoker
