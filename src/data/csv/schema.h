// What a table in CSV files holds: the columns of a record, and which of them become components.
#pragma once

#include <stoker/csv.h>

#include "base/file.h"
#include "formats/csv.h"

namespace stoker::data {

struct CsvSchema {
  std::vector<CsvColumn> fields;   // of a record, in the order of the file
  std::vector<size_t> components;  // fields by number, in the order of the components; label last
  std::vector<bool> inferred;      // per field: its dtype was not stated
  bool label = false;              // the last component is one
};

CsvFormat csv_format(const CsvOptions& options);
CsvReadOptions csv_reading(const CsvOptions& options);

// Opens every file and reads its header, and the first rows of the first ones. ValueError for options
// that do not fit, FileError for files that do not fit each other.
CsvSchema read_schema(const std::vector<std::string>& paths, const CsvOptions& options,
                      FileSystem& files);

// Whether all of `text` is a value of `dtype`, spaces around it aside; it is then written to `value`.
// bytes: always.
bool parse_csv_value(std::string_view text, DType dtype, void* value);

// Makes components of records.
FunctionRef csv_decoder(CsvSchema schema, const CsvOptions& options);

}  // namespace stoker::data
