#include "jobs/table_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/csv.h>

#include "base/printable.h"
#include "formats/number_text.h"
#include "jobs/table_rows.h"
#include "nn/losses/loss_kind.h"

namespace stoker::jobs {

namespace {

using Names = std::vector<std::string>;
using Columns = std::vector<data::CsvColumn>;

constexpr size_t kMostCategories = 1000;

std::string label_of(const Job& job, const Columns& columns) {
  if (!job.label_column.empty()) return job.label_column;
  for (const char* usual : {"label", "target", "class"})
    for (const data::CsvColumn& column : columns)
      if (column.name == usual) return usual;
  return columns.back().name;
}

// The texts of some columns that occur, sorted, in one walk.
std::vector<Names> texts_in(const std::string& glob, const data::CsvOptions& options,
                            const Names& columns) {
  if (columns.empty()) return {};
  data::CsvOptions alone = options;
  alone.label_name = {};
  alone.select_columns = columns;
  std::vector<std::set<std::string>> found(columns.size());
  for (const Batch& batch : data::csv(glob, alone).batch(4096))
    for (size_t column = 0; column < columns.size(); ++column)
      for (const std::string& text : batch[column].values<std::string>())
        if (!text.empty()) found[column].insert(text);
  std::vector<Names> texts;
  for (const std::set<std::string>& each : found) texts.emplace_back(each.begin(), each.end());
  return texts;
}

int64_t count_classes(const data::Dataset& labels, const std::string& name) {
  int64_t most = -1, rows = 0;
  for (const Batch& batch : labels.batch(4096)) {
    rows += batch[0].shape()[0];
    for (int64_t label : batch[0].values<int64_t>()) {
      if (label < 0)
        throw ValueError(fmt::format(
            "label_column: \"{}\" holds {}; classes are numbered from 0, and numbers are predicted "
            "with --loss mse",
            printable(name), label));
      most = std::max(most, label);
    }
  }
  if (most >= rows)
    throw ValueError(
        fmt::format("label_column: \"{}\" holds {} in {} rows; numbers are predicted with --loss "
                    "mse, and if it "
                    "is one of classes numbered from 0, give --classes",
                    printable(name), most, rows));
  return most + 1;
}

void check_categories(const TableColumn& column) {
  if (column.categories.size() > kMostCategories)
    throw ValueError(fmt::format(
        "columns: {} holds {} different texts, more than {}: rather a name than a category; leave "
        "it out with --columns",
        printable(column.name), column.categories.size(), kMostCategories));
}

// The table's own, with the texts that occur in columns of text.
std::vector<TableColumn> columns_of(const std::string& glob, const data::CsvOptions& options,
                                    const Columns& columns) {
  std::vector<TableColumn> result;
  Names texts;
  for (const data::CsvColumn& column : columns) {
    if (column.name == options.label_name) continue;
    result.push_back({.name = column.name});
    if (column.dtype == DType::bytes) texts.push_back(column.name);
  }
  std::vector<Names> found = texts_in(glob, options, texts);
  for (TableColumn& column : result)
    if (auto at = std::ranges::find(texts, column.name); at != texts.end()) {
      column.categories = std::move(found[size_t(at - texts.begin())]);
      check_categories(column);
    }
  return result;
}

bool is_number_text(const std::string& text) {
  float value = 0;
  const char* end = text.data() + text.size();
  return !text.empty() && parse_float(text.data(), end, value) == end;
}

// A header that cannot be one is a row, and one name that holds other delimiters is several.
Columns all_columns(const Job& job, const std::string& glob, const data::CsvOptions& options) {
  Columns columns = data::csv_columns(glob, options);
  if (job.label_column.empty() && options.header &&
      std::ranges::all_of(columns, is_number_text, &data::CsvColumn::name))
    throw ValueError(fmt::format(
        "{}: the names of all columns are numbers ({}, …); give --no-header if the first line is a "
        "row, --label-column if it is a header",
        printable(glob), printable(columns[0].name)));
  size_t other = columns[0].name.find_first_of(options.field_delim == '\t' ? ",;|" : ";\t|");
  if (columns.size() == 1 && other != std::string::npos)
    throw ValueError(fmt::format(
        "{}: its only column is \"{}\"; give --delimiter {} if that stands between fields",
        printable(glob), printable(columns[0].name),
        columns[0].name[other] == '\t' ? "tab" : fmt::format("'{}'", columns[0].name[other])));
  return columns;
}

// Of a column of texts, for people; one that holds numbers as well may not be meant as texts.
std::string described(const TableColumn& column) {
  const Names& texts = column.categories;
  auto numbers = std::ranges::count_if(texts, is_number_text);
  auto first = std::ranges::find_if_not(texts, is_number_text);
  std::string but = numbers == 0 || first == texts.end()
                        ? ""
                        : fmt::format(
                              ", {} of them numbers, but \"{}\" is none: --na-values {} "
                              "makes it a missing one",
                              numbers, printable(*first), printable(*first));
  return fmt::format("\"{}\": {} texts{}", printable(column.name), texts.size(), but);
}

// The columns that become a number per text.
std::string texts_of(const std::vector<TableColumn>& columns) {
  constexpr size_t kNamed = 8;
  std::string text;
  size_t count = 0;
  for (const TableColumn& column : columns)
    if (!column.categories.empty() && ++count <= kNamed) text += "; " + described(column);
  return count <= kNamed ? text : fmt::format("{}; {} more columns of texts", text, count - kNamed);
}

bool is_number(DType dtype) { return dtype == DType::float32 || dtype == DType::int64; }

}  // namespace

bool learns_classes(const Job& job) {
  std::string kind = Loss(job.loss).kind();
  return std::ranges::any_of(loss_kinds(), [&](const LossKind& each) {
    return each.names.kind == kind && each.target == TargetKind::class_ids;
  });
}

Table open_csv(const Job& job, const std::string& glob, const DataNames& known) {
  data::CsvOptions options = csv_options(job, glob);
  options.label_name = label_of(job, all_columns(job, glob, options));
  options.select_columns = split_at_commas(job.columns);
  if (!known.columns.empty()) options.select_columns = names_of(known.columns);
  Columns columns = data::csv_columns(glob, options);
  if (columns.size() < 2) throw ValueError("columns: there is none beside the label");
  DType label = columns.back().dtype;
  bool numbers = is_number(label) && (label == DType::float32 || !learns_classes(job));
  if (!numbers && label != DType::bytes && label != DType::int64)
    throw ValueError(fmt::format(
        "label_column: \"{}\" holds {}; expected texts or whole numbers, the classes, or "
        "numbers to predict",
        printable(options.label_name), name(label)));
  if (label == DType::bytes && !learns_classes(job))
    throw ValueError(fmt::format("loss: {} is not of classes, but \"{}\" holds texts", job.loss,
                                 printable(options.label_name)));

  RowForm form{
      .columns = known.columns.empty() ? columns_of(glob, options, columns) : known.columns,
      .label = numbers                 ? LabelForm::numbers
               : label == DType::bytes ? LabelForm::texts
                                       : LabelForm::classes};
  auto classes = int64_t(0);
  if (form.label == LabelForm::texts) {
    form.classes =
        known.classes.empty() ? texts_in(glob, options, {options.label_name})[0] : known.classes;
    classes = int64_t(form.classes.size());
  }
  if (form.label == LabelForm::classes && !job.classes) {
    data::CsvOptions alone = options;
    alone.select_columns = {options.label_name};
    classes = count_classes(data::csv(glob, alone), options.label_name);
  }
  return {.rows = table_rows(glob, options, form).cache(),
          .classes = classes,
          .names = {form.classes, form.columns},
          .text = fmt::format("{} \"{}\"{}", numbers ? "to predict" : "label",
                              printable(options.label_name), texts_of(form.columns))};
}

Statistics statistics_of(const data::Dataset& rows, size_t component) {
  int64_t numbers = rows.spec()[component].shape.elements(), count = 0;
  std::vector<double> mean(static_cast<size_t>(numbers)), spread(static_cast<size_t>(numbers));
  for (const Batch& batch : rows.batch(1024)) {
    const float* value = batch[component].data<float>();
    for (int64_t row = 0; row < batch[component].shape()[0]; ++row) {
      ++count;
      for (size_t column = 0; column < mean.size(); ++column, ++value) {
        if (!std::isfinite(*value))
          throw ValueError(
              fmt::format("data: number {} of a row is {}, which nothing can be learned from; "
                          "leave the row out, or "
                          "(csv:) name what stands there with --na-values and give --missing",
                          column + 1, *value));
        double off = double(*value) - mean[column];
        mean[column] += off / double(count);
        spread[column] += off * (double(*value) - mean[column]);
      }
    }
  }
  for (double& sum : spread) sum = count > 0 && sum > 0 ? sum / double(count) : 1;
  return {Tensor::from(mean, {numbers}), Tensor::from(spread, {numbers})};
}

}  // namespace stoker::jobs
