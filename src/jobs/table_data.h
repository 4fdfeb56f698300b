// Tables as a job's data: rows of numbers, float32 [columns], with a label each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/dataset.h>

#include "jobs/job.h"

namespace stoker::jobs {

struct Table {
  data::Dataset rows;  // (float32[columns], int64[])
  int64_t classes = 0;
  std::vector<std::string> class_names = {};  // of labels that are text; none: the numbers
  std::string text = {};                      // what is what, for people
};

// csv:GLOB. The label is the job's label_column, or the column named label, target or class, or the
// last one; texts become the numbers of their classes. `class_names`: those of a table or training
// before; none: the texts that occur, sorted. Reads the labels once.
Table open_csv(const Job& job, const std::string& glob,
               const std::vector<std::string>& class_names = {});

// Arrays by name, from npz:FILE or from the .npy files of npy:DIR: x_train and y_train, or x and y; x_test
// and y_test, or x_val and y_val, where they are there. x: pictures [N, H, W] or [N, H, W, C], or rows
// [N, columns]; y: whole numbers.
struct LabelledArrays {
  data::Dataset train;
  std::optional<data::Dataset> validation = {};
  int64_t classes = 0;
};
LabelledArrays open_npz(const std::string& path);
LabelledArrays open_npy(const std::string& folder);

// Of every column, over all rows; walks over them once.
struct ColumnStatistics {
  Tensor mean, variance;  // float32 [columns]
};
ColumnStatistics column_statistics(const data::Dataset& rows);

}  // namespace stoker::jobs
