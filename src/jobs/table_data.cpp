#include "jobs/table_data.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <stoker/csv.h>

#include "base/printable.h"

namespace stoker::jobs {

namespace {

using Names = std::vector<std::string>;

Names split_at_commas(const std::string& text) {
  Names names;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

std::string label_of(const Job& job, const std::vector<data::CsvColumn>& columns) {
  if (!job.label_column.empty()) return job.label_column;
  for (const char* usual : {"label", "target", "class"})
    for (const data::CsvColumn& column : columns)
      if (column.name == usual) return usual;
  return columns.back().name;
}

void refuse_texts(const std::vector<data::CsvColumn>& columns, const std::string& label) {
  Names texts, numbers;
  for (const data::CsvColumn& column : columns)
    if (column.name != label)
      (column.dtype == DType::bytes ? texts : numbers).push_back(printable(column.name));
  if (texts.empty()) return;
  throw ValueError(fmt::format("columns: {} {} text, a job learns from numbers; {}",
                               fmt::join(texts, ", "), texts.size() == 1 ? "is" : "are",
                               numbers.empty()
                                   ? "map texts to numbers in a program of your own"
                                   : fmt::format("give --columns {}", fmt::join(numbers, ","))));
}

// The labels that occur, sorted.
Names texts_in(const data::Dataset& labels) {
  std::set<std::string> found;
  for (const Batch& batch : labels.batch(4096))
    for (const std::string& text : batch[0].values<std::string>())
      if (!text.empty()) found.insert(text);  // a missing one is an error of its row
  return {found.begin(), found.end()};
}

int64_t count_classes(const data::Dataset& labels, const std::string& name) {
  int64_t most = -1;
  for (const Batch& batch : labels.batch(4096))
    for (int64_t label : batch[0].values<int64_t>()) {
      if (label < 0)
        throw ValueError(
            fmt::format("label_column: \"{}\" holds {}; classes are numbered from 0", name, label));
      most = std::max(most, label);
    }
  return most + 1;
}

data::Dataset numbered(const data::Dataset& rows, const Names& classes) {
  return rows.map(
      [classes](const Tensor& features, const std::string& label) {
        auto found = std::lower_bound(classes.begin(), classes.end(), label);
        if (found == classes.end() || *found != label)
          throw ValueError(fmt::format("label \"{}\" is none of the classes {}", printable(label),
                                       fmt::join(classes, ", ")));
        return std::pair(features, int64_t(found - classes.begin()));
      },
      {.name = "classes"});
}

}  // namespace

Table open_csv(const Job& job, const std::string& glob, const Names& class_names) {
  data::CsvOptions options{.select_columns = split_at_commas(job.columns)};
  if (!job.missing.empty()) options.missing = job.missing;
  data::CsvOptions all = options;
  all.select_columns = {};
  options.label_name = label_of(job, data::csv_columns(glob, all));
  std::vector<data::CsvColumn> columns = data::csv_columns(glob, options);
  refuse_texts(columns, options.label_name);
  if (columns.size() < 2) throw ValueError("columns: there is none beside the label");
  DType dtype = columns.back().dtype;
  if (dtype != DType::bytes && dtype != DType::int64)
    throw ValueError(
        fmt::format("label_column: \"{}\" holds {}; expected texts or whole numbers, the classes",
                    printable(options.label_name), name(dtype)));
  options.pack = true;
  data::Dataset rows = data::csv(glob, options);
  data::CsvOptions alone = options;
  alone.pack = false;
  alone.select_columns = {options.label_name};
  data::Dataset labels = data::csv(glob, alone);
  Table table{.rows = rows};
  table.text = fmt::format("label \"{}\"", printable(options.label_name));
  if (dtype == DType::bytes) {
    table.class_names = class_names.empty() ? texts_in(labels) : class_names;
    table.classes = int64_t(table.class_names.size());
    table.rows = numbered(rows, table.class_names);
  } else {
    table.classes = count_classes(labels, options.label_name);
  }
  table.rows = table.rows.cache();
  return table;
}

ColumnStatistics column_statistics(const data::Dataset& rows) {
  int64_t columns = rows.spec()[0].shape[0], count = 0;
  std::vector<double> mean(static_cast<size_t>(columns)), spread(static_cast<size_t>(columns));
  for (const Batch& batch : rows.batch(1024)) {
    const float* value = batch[0].data<float>();
    for (int64_t row = 0; row < batch[0].shape()[0]; ++row) {
      ++count;
      for (size_t column = 0; column < mean.size(); ++column, ++value) {
        double off = double(*value) - mean[column];
        mean[column] += off / double(count);
        spread[column] += off * (double(*value) - mean[column]);
      }
    }
  }
  for (double& sum : spread) sum = count > 0 ? sum / double(count) : 1;
  return {Tensor::from(mean, {columns}), Tensor::from(spread, {columns})};
}

}  // namespace stoker::jobs
