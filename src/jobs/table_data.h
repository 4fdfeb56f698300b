// Tables as a job's data: rows of numbers, float32 [numbers], with a label or a number to predict each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/dataset.h>

#include "jobs/data_names.h"
#include "jobs/job.h"

namespace stoker::jobs {

struct Table {
  data::Dataset rows;   // (float32[numbers], int64[]), or (float32[numbers], float32[1]) to predict
  int64_t classes = 0;  // 0: numbers are predicted
  DataNames names = {};
  std::string text = {};  // what is what, for people
};

// csv:GLOB. The label is the job's label_column, or the column named label, target or class, or the
// last one. Texts and whole numbers are classes; fractions, and whole numbers where the job's loss is
// not one of classes, are predicted as numbers. Other columns of texts become a number per text.
// `known`: names of a table or training before, which texts that are new then are none of; none: those
// that occur here. Reads the texts once.
Table open_csv(const Job& job, const std::string& glob, const DataNames& known = {});

// The rows without labels, (float32[numbers]), for a model that was trained with these columns.
data::Dataset csv_rows(const Job& job, const std::string& glob, const DataNames& known);

// svmlight:GLOB. Features that occur, or those of `known`, are the columns; whole labels are classes,
// in ascending order, others are predicted as numbers. Reads the files once or twice.
Table open_svmlight(const Job& job, const std::string& glob, const DataNames& known);
data::Dataset svmlight_rows(const Job& job, const std::string& glob, const DataNames& known);

// Whether the job's loss is one of classes.
bool learns_classes(const Job& job);

// Arrays by name, from npz:FILE or from the .npy files of npy:DIR: x_train and y_train, or x and y; x_test
// and y_test, or x_val and y_val, where they are there. x: pictures [N, H, W] or [N, H, W, C], or rows
// [N, columns]; y: whole numbers, the classes; beside rows also floats [N] or [N, n], to predict.
struct LabelledArrays {
  data::Dataset train;
  std::optional<data::Dataset> validation = {};
  int64_t classes = 0;  // 0: numbers are predicted
};
LabelledArrays open_npz(const Job& job, const std::string& path);
LabelledArrays open_npy(const Job& job, const std::string& folder);
// The inputs alone: x_test, x_val, x or the only array of a .npz file; the array of a .npy file.
Tensor npz_inputs(const std::string& path);
Tensor npy_inputs(const std::string& path);

// Of every number of a component, over all rows; walks over them once. A number that is the same
// everywhere has variance 1: another one later is no reason for a huge value.
struct Statistics {
  Tensor mean, variance;  // float32 [numbers]
};
Statistics statistics_of(const data::Dataset& rows, size_t component);

}  // namespace stoker::jobs
