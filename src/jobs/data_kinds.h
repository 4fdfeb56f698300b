// The kinds of data that a job can name: data_kinds.cpp has one row for each, with how it is opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/dataset.h>

#include "jobs/data_names.h"
#include "jobs/job.h"

namespace stoker::jobs {

// What a spec may be, for errors and for the command line; data_spec.h says more.
inline constexpr const char* kDataSpecs =
    "a folder, idx:DIR, shards:DIR, npy:DIR, npz:FILE, csv:, svmlight:, tfrecord:GLOB";

// Those whose rows a model can predict from, without labels.
inline constexpr const char* kRowSpecs = "csv:GLOB, svmlight:GLOB, npz:FILE or npy:FILE";

// Elements (picture or row, label) as they are stored.
struct OpenedData {
  std::optional<data::Dataset> train, validation;
  int64_t classes = 0;  // 0: not known
  DataNames names;
  std::string text;  // more about it, for people
};

// `known`: as in open_data. FileError or ValueError for what is not there or of no kind.
OpenedData open_spec(const Job& job, const std::string& spec, const DataNames& known);

// Whether it is one of kRowSpecs.
bool is_rows_spec(const std::string& spec);
// Rows or arrays alone, as the one component of elements. `model`: the file of the model that they are
// for, `known` its names; FileError where a kind needs its columns and they are not known.
data::Dataset open_rows(const Job& job, const std::string& spec, const DataNames& known,
                        const std::string& model);

}  // namespace stoker::jobs
