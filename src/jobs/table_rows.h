// Rows of a CSV file as a model takes them.
#pragma once

#include <string>
#include <vector>

#include <stoker/csv.h>

#include "jobs/data_names.h"
#include "jobs/job.h"

namespace stoker::jobs {

enum class LabelForm : uint8_t {
  none,     // rows alone
  classes,  // whole numbers, as int64[]
  texts,    // the names of classes, as their numbers
  numbers,  // to predict, as float32[1]
};

// What becomes of the columns, and of the label behind them.
struct RowForm {
  std::vector<TableColumn> columns;
  LabelForm label = LabelForm::none;
  std::vector<std::string> classes = {};  // of texts, sorted
};

// Of `options`, columns and label are the form's affair but for the label's name. A text that is none
// of its column's categories, a missing one too, has 0 in all of them; a label that is no class is an
// error of its row.
data::Dataset table_rows(const std::string& glob, data::CsvOptions options, const RowForm& form);

// How the job says that its tables are written.
data::CsvOptions csv_options(const Job& job, const std::string& glob);

std::vector<std::string> split_at_commas(const std::string& text);

std::vector<std::string> names_of(const std::vector<TableColumn>& columns);

}  // namespace stoker::jobs
