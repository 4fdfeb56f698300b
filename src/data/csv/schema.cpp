#include "data/csv/schema.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/visit_dtype.h"
#include "formats/number_text.h"

namespace stoker::data {

namespace {

using Names = std::vector<std::string>;

constexpr size_t kSchemaBuffer = 1 << 14;  // read at a time: a header and some rows

std::string listed(const Names& names) {
  constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", printable(names[i]));
  return names.size() > kMost ? text + ", …" : text;
}

Names fields_of(std::string_view record, const CsvFormat& format) {
  Names fields;
  CsvFields walk(record, format);
  while (auto field = walk.next()) fields.emplace_back(*field);
  return fields;
}

std::string_view trimmed(std::string_view text) {
  auto space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

bool parse_bool(std::string_view text, bool& value) {
  for (std::string_view word : {"1", "true", "True", "TRUE"})
    if (text == word) return value = true;
  for (std::string_view word : {"0", "false", "False", "FALSE"})
    if (text == word) return !(value = false);
  return false;
}

// Also one beyond float32, which is then an error where it is read: a column of numbers must not
// become one of categories because of a single large one.
bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() && error != std::errc::invalid_argument;
}

// The narrowest kind that held all values of a column so far.
class Inferred {
 public:
  void see(std::string_view text, const Names& na_values) {
    text = trimmed(text);
    if (text.empty() || std::ranges::find(na_values, text) != na_values.end()) {
      gap_ = true;
      return;
    }
    seen_ = true;
    int64_t whole = 0;
    float number = 0;
    bool flag = false;
    integer_ = integer_ && parse_csv_value(text, DType::int64, &whole);
    number_ = number_ && (parse_csv_value(text, DType::float32, &number) || is_number(text));
    flag_ = flag_ && !is_digit(text[0]) && parse_bool(text, flag);
  }
  // `missing`: what stands for the gaps; integers with gaps that become "nan" are floats.
  DType dtype(const std::optional<std::string>& missing) const {
    if (!seen_) return DType::float32;
    if (flag_) return DType::bool_;
    int64_t whole = 0;
    float number = 0;
    bool to_floats = gap_ && missing && !parse_csv_value(*missing, DType::int64, &whole) &&
                     parse_csv_value(*missing, DType::float32, &number);
    return integer_ && !to_floats ? DType::int64 : number_ ? DType::float32 : DType::bytes;
  }

 private:
  bool seen_ = false, gap_ = false, integer_ = true, number_ = true, flag_ = true;
};

size_t field_named(const std::string& name, const char* option, const CsvSchema& schema) {
  Names names;
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (schema.fields[i].name == name) return i;
    names.push_back(schema.fields[i].name);
  }
  throw ValueError(
      fmt::format("csv: {} names \"{}\", but the columns are {}", option, name, listed(names)));
}

void check_column(const CsvColumn& column) {
  DType dtype = column.dtype;
  if (dtype == DType::float16 || dtype == DType::bfloat16)
    throw ValueError(
        fmt::format("csv: column \"{}\" is asked for as {}; use float32, which a map can cast",
                    column.name, name(dtype)));
}

// The names of columns; `first`: the first record.
Names names_of(const std::string& path, const CsvOptions& options, const Names& first) {
  Names names = options.column_names;
  for (size_t i = 0; options.column_names.empty() && i < first.size(); ++i)
    names.push_back(options.header ? first[i] : std::to_string(i));
  if (names.size() != first.size())
    throw ValueError(fmt::format("csv: column_names has {} names, but {} has {} columns",
                                 names.size(), path, first.size()));
  std::set<std::string> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second)
      throw FileError(fmt::format("{}: line 1: two columns are named \"{}\"; give column_names",
                                  path, printable(name)));
  return names;
}

// The first record of a file, in fields. FileError where there is none.
Names first_record(const std::string& path, const CsvOptions& options, FileSystem& files) {
  auto file = files.open(path);
  CsvReadOptions reading = csv_reading(options);
  reading.skip_first = false;
  reading.buffer_bytes = kSchemaBuffer;
  CsvReader reader(*file, reading);
  auto record = reader.next();
  if (!record)
    throw FileError(fmt::format("{}: the file is empty; expected {}", path,
                                options.header ? "a header and rows" : "rows"));
  try {
    return fields_of(*record, reading.format);
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: line {}: {}", path, reader.line(), error.what()));
  }
}

void infer(const std::vector<std::string>& paths, const CsvOptions& options, FileSystem& files,
           CsvSchema& schema) {
  std::vector<Inferred> kinds(schema.fields.size());
  int64_t rows = 0;
  for (const std::string& path : paths) {
    if (rows >= options.num_rows_for_inference) break;
    auto file = files.open(path);
    CsvReadOptions reading = csv_reading(options);
    reading.buffer_bytes = kSchemaBuffer;
    CsvReader reader(*file, reading);
    while (rows < options.num_rows_for_inference) {
      auto record = reader.next();
      if (!record) break;
      ++rows;
      CsvFields walk(*record, reading.format);
      try {
        for (size_t i = 0; i < kinds.size(); ++i)
          if (auto field = walk.next()) kinds[i].see(*field, options.na_values);
      } catch (const ValueError&) {  // an error of the row, when it becomes an element
      }
    }
  }
  for (size_t i = 0; i < kinds.size(); ++i)
    if (schema.inferred[i]) schema.fields[i].dtype = kinds[i].dtype(options.missing);
}

void check_options(const CsvOptions& options) {
  auto wrong = [](const std::string& text) { throw ValueError("csv: " + text); };
  if (options.field_delim == '\n' || options.field_delim == '\r' || options.field_delim == '"')
    wrong("field_delim cannot be a quote or a line end");
  if (options.comment != '\0' && (options.comment == options.field_delim || options.comment == '"'))
    wrong("comment cannot be the delimiter or a quote");
  if (options.max_record_bytes < 1)
    wrong(fmt::format("max_record_bytes is {}, expected at least 1", options.max_record_bytes));
  if (options.num_rows_for_inference < 1)
    wrong(fmt::format("num_rows_for_inference is {}, expected at least 1",
                      options.num_rows_for_inference));
}

void choose_components(const CsvOptions& options, CsvSchema& schema) {
  std::optional<size_t> label;
  if (!options.label_name.empty()) label = field_named(options.label_name, "label_name", schema);
  if (options.select_columns.empty())
    for (size_t i = 0; i < schema.fields.size(); ++i) schema.components.push_back(i);
  for (const std::string& name : options.select_columns)
    schema.components.push_back(field_named(name, "select_columns", schema));
  if (std::set(schema.components.begin(), schema.components.end()).size() !=
      schema.components.size())
    throw ValueError("csv: select_columns names a column twice");
  if (label) {
    std::erase(schema.components, *label);
    schema.components.push_back(*label);
    schema.label = true;
  }
}

}  // namespace

CsvFormat csv_format(const CsvOptions& options) {
  return {.delimiter = options.field_delim,
          .quote = options.use_quote_delim ? '"' : '\0',
          .comment = options.comment};
}

CsvReadOptions csv_reading(const CsvOptions& options) {
  return {.format = csv_format(options),
          .skip_first = options.header,
          .most_record_bytes = uint64_t(options.max_record_bytes)};
}

bool parse_csv_value(std::string_view text, DType dtype, void* value) {
  if (dtype == DType::bytes) {
    static_cast<std::string*>(value)->assign(text);
    return true;
  }
  text = trimmed(text);
  const char *begin = text.data(), *end = begin + text.size();
  if (dtype == DType::bool_) return parse_bool(text, *static_cast<bool*>(value));
  return visit_numeric(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, float>)
      return !text.empty() && parse_float(begin, end, *static_cast<T*>(value)) == end;
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return !text.empty() && parse_integer(begin, end, *static_cast<T*>(value)) == end;
    else
      return false;
  });
}

CsvSchema read_schema(const std::vector<std::string>& paths, const CsvOptions& options,
                      FileSystem& files) {
  check_options(options);
  Names first;
  for (const std::string& path : paths) {
    Names record = first_record(path, options, files);
    if (first.empty()) first = record;
    if (options.header ? record != first : record.size() != first.size())
      throw FileError(fmt::format("{}: line 1: the columns are {}, but those of {} are {}", path,
                                  listed(record), paths[0], listed(first)));
  }
  CsvSchema schema;
  for (std::string& name : names_of(paths[0], options, first))
    schema.fields.push_back({.name = std::move(name)});
  schema.inferred.assign(first.size(), true);
  for (const CsvColumn& column : options.columns) {
    check_column(column);
    size_t field = field_named(column.name, "columns", schema);
    schema.fields[field] = column;
    schema.inferred[field] = false;
  }
  infer(paths, options, files, schema);
  choose_components(options, schema);
  return schema;
}

}  // namespace stoker::data
