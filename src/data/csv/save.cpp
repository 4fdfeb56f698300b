// Tensors as columns of a CSV file.
#include <fmt/format.h>
#include <stoker/csv.h>

#include "base/file.h"
#include "base/visit_dtype.h"
#include "formats/csv.h"

namespace stoker::data {

namespace {

using NamedColumns = std::vector<std::pair<std::string, Tensor>>;

int64_t width_of(const Tensor& column) {
  return column.shape().rank() == 1 ? 1 : column.shape()[1];
}

void check_columns(const NamedColumns& columns, const SaveCsvOptions& options) {
  if (columns.empty()) throw ValueError("save_csv: no columns were given");
  if (options.field_delim == '"' || options.field_delim == '\n' || options.field_delim == '\r')
    throw ValueError("save_csv: field_delim cannot be a quote or a line end");
  for (const auto& [name, column] : columns) {
    int rank = column.defined() ? column.shape().rank() : 0;
    if (rank != 1 && rank != 2)
      throw ShapeError(fmt::format("save_csv: column \"{}\" is {}, expected [rows] or [rows, n]",
                                   name,
                                   column.defined() ? to_string(column.spec()) : "undefined"));
    if (column.shape()[0] != columns[0].second.shape()[0])
      throw ShapeError(fmt::format("save_csv: column \"{}\" has {} rows, column \"{}\" has {}",
                                   name, column.shape()[0], columns[0].first,
                                   columns[0].second.shape()[0]));
  }
}

void append_value(const Tensor& column, int64_t at, const CsvFormat& format, std::string& out) {
  if (column.dtype() == DType::bytes) {
    out += csv_field(column.values<std::string>()[size_t(at)], format);
    return;
  }
  visit_numeric(column.dtype(), [&]<class T>(std::type_identity<T>) {
    T value = column.data<T>()[at];
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      fmt::format_to(std::back_inserter(out), "{}", int64_t(value));
    else if constexpr (std::is_same_v<T, bool>)
      out += value ? "true" : "false";
    else
      fmt::format_to(std::back_inserter(out), "{}", float(value));
  });
}

void append_header(const NamedColumns& columns, const CsvFormat& format, std::string& out) {
  for (const auto& [name, column] : columns)
    for (int64_t i = 0; i < width_of(column); ++i)
      out += csv_field(column.shape().rank() == 1 ? name : fmt::format("{}_{}", name, i), format) +
             format.delimiter;
  if (!out.empty()) out.back() = '\n';
}

}  // namespace

void save_csv(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& columns,
              const SaveCsvOptions& options) {
  check_columns(columns, options);
  CsvFormat format{.delimiter = options.field_delim};
  std::string out;
  if (options.header) append_header(columns, format, out);
  for (int64_t row = 0; row < columns[0].second.shape()[0]; ++row) {
    size_t begin = out.size();
    for (const auto& [name, column] : columns)
      for (int64_t width = width_of(column), i = 0; i < width; ++i) {
        append_value(column, row * width + i, format, out);
        out += format.delimiter;
      }
    if (out.size() == begin + 1) out.insert(begin, "\"\"");  // a blank line would be no record
    out.back() = '\n';
  }
  write_file_atomically(path, out);
}

}  // namespace stoker::data
