// Tables in CSV files as training data, as tf.data's make_csv_dataset and pandas read them.
//
//   auto rows = data::csv("titanic.csv", {.select_columns = {"age", "fare", "class"},
//                                         .label_name = "survived",
//                                         .missing = "0"});       // (float32[], float32[], bytes[], int64[])
//   auto train = data::csv("iris.csv", {.label_name = "species", .pack = true})
//                    .shuffle().batch(32);                         // (float32[B, 4], int64[B])
//
// Files are RFC 4180, plain or gzip: fields in quotes may hold delimiters, doubled quotes and line
// ends; blank lines are passed over. A value that does not fit is an error of its element with file,
// line and column, which on_error() can leave out. docs/formats/csv.md has the details.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stoker/dataset.h>
#include <stoker/safetensors.h>

namespace stoker::data {

struct CsvColumn {
  std::string name;
  DType dtype = DType::float32;  // float32, int8 … int64, uint8, bool_ or bytes
  // Stands for a missing value, written as in the file: "0". None: CsvOptions::missing.
  std::optional<std::string> fallback = {};
};

struct CsvOptions {
  bool header = true;  // the first record names the columns; false: they are "0", "1", …
  std::vector<std::string> column_names = {};  // other names for them, one per column
  // Dtypes and fallbacks of some columns. Those of the others are inferred from the first rows: int64,
  // float32, bool_ (true and false) or bytes.
  std::vector<CsvColumn> columns = {};
  std::vector<std::string> select_columns = {};  // and their order; none: all, as in the file
  std::string label_name = {};                   // becomes the last component; empty: none
  // The columns but the label as one component, float32 [columns]; texts among them are an error.
  bool pack = false;
  // Stands for missing numbers where a column has no fallback: "0", "nan". None: they are an error.
  // Missing text is empty.
  std::optional<std::string> missing = {};
  std::vector<std::string> na_values = {};  // mean a missing value, as an empty field does
  char field_delim = ',';
  bool use_quote_delim = true;  // false: quotes are text
  char comment = '\0';          // lines that begin with it are passed over; '\0': none
  int64_t num_rows_for_inference = 100;
  int64_t max_record_bytes = int64_t(1) << 26;  // a longer record is an error
  // True: plain files are read once when the dataset is written, and give random access (exact
  // shuffle, known length, resume at once). False, and whenever a file is gzip: a stream.
  bool index = true;
};

// The rows of files one after the other, one scalar component per column. A path may be a pattern:
// "part-*.csv". Memory: less than a hundredth of the files' size.
Dataset csv(const std::string& path, const CsvOptions& options = {});
Dataset csv(const std::vector<std::string>& paths, const CsvOptions& options = {});
Dataset csv(std::initializer_list<std::string> paths, const CsvOptions& options = {});

// What the components of csv() are, in their order; with `pack`, what the first one holds.
std::vector<CsvColumn> csv_columns(const std::string& path, const CsvOptions& options = {});
std::vector<CsvColumn> csv_columns(const std::vector<std::string>& paths,
                                   const CsvOptions& options = {});

// Records as fields, for map: bytes[] record → one scalar component per column. Columns, their order
// and their dtypes are those of `columns`; of the options, the ones about fields count.
FunctionRef decode_csv(std::vector<CsvColumn> columns, const CsvOptions& options = {});

// Whole columns in memory, by name, each [rows].
TensorMap load_csv(const std::string& path, const CsvOptions& options = {});

struct SaveCsvOptions {
  char field_delim = ',';
  bool header = true;
};
// Columns of [rows], or [rows, n] for n columns NAME_0, NAME_1, …, in the order given. Floats are
// written so that they come back bit for bit. Atomic: the old file or all of the new one.
void save_csv(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& columns,
              const SaveCsvOptions& options = {});

}  // namespace stoker::data
