// Records of formats/csv.h as a source's format.
#pragma once

#include <string>

#include "data/sources/record_files.h"
#include "formats/csv.h"

namespace stoker::data {

// `index`: random access in plain files; false: a stream.
RecordFormat csv_records(std::string kind, std::string details, const CsvReadOptions& reading,
                         bool index);

}  // namespace stoker::data
