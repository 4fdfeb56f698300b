#include "jobs/table_rows.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "jobs/table_data.h"

namespace stoker::jobs {

namespace {

int64_t numbers_of(const TableColumn& column) {
  return std::max<int64_t>(int64_t(column.categories.size()), 1);
}

float number_in(const ConstTensorView& value) {
  switch (value.dtype) {
    case DType::float32:
      return value.values<float>()[0];
    case DType::int64:
      return float(value.values<int64_t>()[0]);
    case DType::bool_:
      return value.values<bool>()[0] ? 1.0F : 0.0F;
    default:
      throw ValueError(fmt::format("expected a number, got {}", name(value.dtype)));
  }
}

// Where it stands in a sorted list; -1: nowhere.
int64_t place_of(const std::string& text, const std::vector<std::string>& sorted) {
  auto found = std::ranges::lower_bound(sorted, text);
  return found != sorted.end() && *found == text ? found - sorted.begin() : -1;
}

// Takes a component per column, then the label's.
class TableRow : public data::ElementFunction {
 public:
  explicit TableRow(RowForm form) : form_(std::move(form)) {
    for (const TableColumn& column : form_.columns) numbers_ += numbers_of(column);
  }

  std::string name() const override { return "row"; }

  data::ElementSpec infer(const data::ElementSpec&) const override {
    data::ElementSpec spec = {{DType::float32, {numbers_}}};
    if (form_.label == LabelForm::numbers)
      spec.push_back({DType::float32, {1}});
    else if (form_.label != LabelForm::none)
      spec.push_back({DType::int64, {}});
    return spec;
  }

  void apply(std::span<const ConstTensorView> in, data::ElementWriter& out, Rng&) const override {
    auto* next = static_cast<float*>(out.put(0, DType::float32, {numbers_}));
    for (size_t i = 0; i < form_.columns.size(); ++i) {
      const TableColumn& column = form_.columns[i];
      int64_t count = numbers_of(column);
      if (column.categories.empty()) {
        *next = number_in(in[i]);
      } else {
        std::fill_n(next, count, 0.0F);
        int64_t place = place_of(in[i].values<std::string>()[0], column.categories);
        if (place >= 0) next[place] = 1;
      }
      next += count;
    }
    put_label(in.back(), out);
  }

  // All that the result depends on.
  std::string identity() const override {
    std::string text = fmt::format("row {} {}", int(form_.label), form_.classes);
    for (const TableColumn& column : form_.columns)
      text += fmt::format(" {} {}", column.name, column.categories);
    return text;
  }

 private:
  void put_label(const ConstTensorView& label, data::ElementWriter& out) const {
    if (form_.label == LabelForm::classes) out.copy(1, label);
    if (form_.label == LabelForm::numbers)
      *static_cast<float*>(out.put(1, DType::float32, {1})) = number_in(label);
    if (form_.label != LabelForm::texts) return;
    const std::string& text = label.values<std::string>()[0];
    int64_t place = place_of(text, form_.classes);
    if (place < 0)
      throw ValueError(fmt::format("label \"{}\" is none of the classes {}", printable(text),
                                   fmt::join(form_.classes, ", ")));
    *static_cast<int64_t*>(out.put(1, DType::int64, {})) = place;
  }

  RowForm form_;
  int64_t numbers_ = 0;
};

char delimiter_of(const Job& job, const std::string& glob) {
  if (job.delimiter.empty())
    return glob.ends_with(".tsv") || glob.ends_with(".tsv.gz") ? '\t' : ',';
  if (job.delimiter == "tab" || job.delimiter == "\\t") return '\t';
  if (job.delimiter.size() > 1)
    throw OptionError(fmt::format("delimiter: expected one character or \"tab\", got \"{}\"",
                                  printable(job.delimiter)));
  return job.delimiter[0];
}

DType dtype_of_label(LabelForm form) {
  if (form == LabelForm::texts) return DType::bytes;
  return form == LabelForm::numbers ? DType::float32 : DType::int64;
}

}  // namespace

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

data::CsvOptions csv_options(const Job& job, const std::string& glob) {
  data::CsvOptions options{.header = !job.no_header,
                           .na_values = split_at_commas(job.na_values),
                           .field_delim = delimiter_of(job, glob)};
  if (!job.missing.empty()) options.missing = job.missing;
  return options;
}

std::vector<std::string> names_of(const std::vector<TableColumn>& columns) {
  std::vector<std::string> names;
  for (const TableColumn& column : columns) names.push_back(column.name);
  return names;
}

// The first rows tell what a column holds. Whole numbers there say nothing about fractions further
// down, and texts that look like numbers in another file are texts.
data::Dataset table_rows(const std::string& glob, data::CsvOptions options, const RowForm& form) {
  options.select_columns = names_of(form.columns);
  if (form.label == LabelForm::none) options.label_name = {};
  options.columns = {};
  for (const data::CsvColumn& column : data::csv_columns(glob, options)) {
    if (column.name == options.label_name) continue;
    auto known = std::ranges::find(form.columns, column.name, &TableColumn::name);
    bool texts = !known->categories.empty();
    if (texts || column.dtype == DType::int64)
      options.columns.push_back(
          {.name = column.name, .dtype = texts ? DType::bytes : DType::float32});
  }
  if (form.label != LabelForm::none)
    options.columns.push_back({.name = options.label_name, .dtype = dtype_of_label(form.label)});
  return data::csv(glob, options).map(std::make_shared<const TableRow>(form));
}

data::Dataset csv_rows(const Job& job, const std::string& glob, const DataNames& known) {
  return table_rows(glob, csv_options(job, glob), {.columns = known.columns});
}

}  // namespace stoker::jobs
