// What a model makes of rows and arrays.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "jobs/run_folder.h"

namespace stoker::jobs {

// `spec`: one of kRowSpecs. An array of predicted_row()s with "row", counted from 1. Of a table, the columns that the model was
// trained with, in any order; others, a label among them, are passed over.
nlohmann::json predict_rows(const TrainedModel& trained, const std::string& spec, int64_t top);

// The outputs for one sample: {"class", "label", "probability", "top": [...]}, the best `top` classes
// first, or {"numbers": [...]} where numbers are predicted.
nlohmann::json predicted_row(const TrainedModel& trained, std::span<const float> outputs,
                             int64_t top);

}  // namespace stoker::jobs
