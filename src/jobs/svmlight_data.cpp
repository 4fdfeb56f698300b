// Rows of svmlight files as a job's data.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/svmlight.h>

#include "jobs/table_data.h"

namespace stoker::jobs {

namespace {

constexpr size_t kMostLabels = 1000;

// Every feature is a column, whose name is its index.
std::vector<TableColumn> columns_of(const data::SvmlightLayout& layout) {
  std::vector<TableColumn> columns;
  for (int64_t i = 0; i < layout.num_features; ++i)
    columns.push_back({.name = std::to_string(i + (layout.zero_based ? 0 : 1))});
  return columns;
}

// Those of the model that the data is for, so that rows have the features that it knows.
data::SvmlightOptions options_for(const DataNames& known) {
  if (known.columns.empty()) return {};
  return {.num_features = int64_t(known.columns.size()),
          .zero_based = known.columns[0].name == "0"};
}

std::vector<int64_t> labels_in(const data::Dataset& rows) {
  std::set<int64_t> found;
  for (const Batch& batch : rows.batch(1024)) {
    for (int64_t label : batch[1].values<int64_t>()) found.insert(label);
    if (found.size() > kMostLabels)
      throw ValueError(fmt::format(
          "data: more than {} different labels: rather numbers than classes; predict them with "
          "--loss mse",
          kMostLabels));
  }
  return {found.begin(), found.end()};
}

std::vector<std::string> texts_of(const std::vector<int64_t>& labels) {
  std::vector<std::string> texts;
  for (int64_t label : labels) texts.push_back(std::to_string(label));
  return texts;
}

// The row, and its label as the number of its class, as a number to predict, or not at all.
class SvmlightRow : public data::ElementFunction {
 public:
  enum class Label : uint8_t { none, number, class_ };
  SvmlightRow(Label label, std::vector<std::string> classes)
      : label_(label), classes_(std::move(classes)) {}

  std::string name() const override { return "row"; }

  data::ElementSpec infer(const data::ElementSpec& in) const override {
    if (label_ == Label::none) return {in[0]};
    if (label_ == Label::number) return {in[0], {DType::float32, {1}}};
    return {in[0], {DType::int64, {}}};
  }

  void apply(std::span<const ConstTensorView> in, data::ElementWriter& out, Rng&) const override {
    out.copy(0, in[0]);
    if (label_ == Label::number)
      *static_cast<float*>(out.put(1, DType::float32, {1})) = in[1].values<float>()[0];
    if (label_ == Label::class_)
      *static_cast<int64_t*>(out.put(1, DType::int64, {})) = class_of(in[1].values<int64_t>()[0]);
  }

 private:
  int64_t class_of(int64_t label) const {
    auto found = std::ranges::find(classes_, std::to_string(label));
    if (found == classes_.end())
      throw ValueError(
          fmt::format("label {} is none of the classes {}", label, fmt::join(classes_, ", ")));
    return found - classes_.begin();
  }

  Label label_;
  std::vector<std::string> classes_;
};

data::Dataset rows_with(const data::Dataset& lines, SvmlightRow::Label label,
                        const std::vector<std::string>& classes = {}) {
  return lines.map(std::make_shared<const SvmlightRow>(label, classes));
}

}  // namespace

Table open_svmlight(const Job& job, const std::string& glob, const DataNames& known) {
  data::SvmlightOptions options = options_for(known);
  if (!learns_classes(job)) options.label_dtype = DType::float32;
  data::SvmlightLayout layout = data::svmlight_layout(glob, options);
  data::Dataset lines = data::svmlight(glob, {.num_features = layout.num_features,
                                              .zero_based = layout.zero_based,
                                              .label_dtype = layout.label_dtype});
  DataNames names{.columns = columns_of(layout)};
  if (layout.label_dtype == DType::float32)
    return {.rows = rows_with(lines, SvmlightRow::Label::number),
            .names = std::move(names),
            .text = "to predict the label"};
  names.classes = known.classes.empty() ? texts_of(labels_in(lines)) : known.classes;
  return {.rows = rows_with(lines, SvmlightRow::Label::class_, names.classes),
          .classes = int64_t(names.classes.size()),
          .names = names,
          .text = fmt::format("labels {}", fmt::join(names.classes, ", "))};
}

data::Dataset svmlight_rows(const Job&, const std::string& glob, const DataNames& known) {
  data::SvmlightOptions options = options_for(known);
  options.label_dtype = DType::float32;  // any label will do
  return rows_with(data::svmlight(glob, options), SvmlightRow::Label::none);
}

}  // namespace stoker::jobs
