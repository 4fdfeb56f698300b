// Rows of CSV files: records of files, and a function that makes components of them.
#include <stoker/csv.h>

#include <fmt/format.h>

#include "data/csv/schema.h"
#include "data/sources/files.h"
#include "data/sources/record_files.h"

namespace stoker::data {

namespace {

class CsvRecords final : public RecordReader {
 public:
  CsvRecords(FileReader& file, const CsvReadOptions& options) : reader_(file, options) {}
  std::optional<std::string_view> next() override { return reader_.next(); }
  uint64_t line() const override { return reader_.line(); }

 private:
  CsvReader reader_;
};

RecordFormat record_format(const CsvOptions& options) {
  CsvReadOptions reading = csv_reading(options);
  RecordFormat format{
      .kind = "csv",
      .details = options.header ? "" : "header = false",
      .read = [reading](FileReader& file) { return std::make_unique<CsvRecords>(file, reading); }};
  if (options.index) {
    format.index = [reading](FileReader& file) { return index_csv(file, reading); };
    format.cut = [csv = reading.format](std::string_view block,
                                        std::vector<std::string_view>& records) {
      cut_csv(block, csv, records);
    };
  }
  return format;
}

}  // namespace

Dataset csv(const std::vector<std::string>& paths, const CsvOptions& options, FileSystem& files) {
  std::vector<std::string> all = matching_files("csv", paths, files);
  FunctionRef decoder = csv_decoder(read_schema(all, options, files), options);
  return record_files(std::move(all), record_format(options), files).map(std::move(decoder));
}

Dataset csv(const std::vector<std::string>& paths, const CsvOptions& options) {
  return csv(paths, options, local_files());
}

Dataset csv(std::initializer_list<std::string> paths, const CsvOptions& options) {
  return csv(std::vector<std::string>(paths), options);
}

Dataset csv(const std::string& path, const CsvOptions& options) {
  return csv(std::vector<std::string>{path}, options);
}

std::vector<CsvColumn> csv_columns(const std::vector<std::string>& paths,
                                   const CsvOptions& options) {
  CsvSchema schema =
      read_schema(matching_files("csv", paths, local_files()), options, local_files());
  std::vector<CsvColumn> columns;
  for (size_t field : schema.components) columns.push_back(schema.fields[field]);
  return columns;
}

std::vector<CsvColumn> csv_columns(const std::string& path, const CsvOptions& options) {
  return csv_columns(std::vector<std::string>{path}, options);
}

}  // namespace stoker::data
