// Rows of CSV files: records of files, and a function that makes components of them.
#include <stoker/csv.h>

#include "data/csv/schema.h"
#include "data/sources/csv_records.h"
#include "data/sources/files.h"

namespace stoker::data {

namespace {

RecordFormat record_format(const CsvOptions& options) {
  return csv_records("csv", options.header ? "" : "header = false", csv_reading(options),
                     options.index);
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
