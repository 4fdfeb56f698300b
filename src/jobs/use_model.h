// What one does with a trained model: evaluate it, let it predict, and write data for it ahead of
// time.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "jobs/job.h"
#include "jobs/run_folder.h"

namespace stoker::jobs {

// Loss and metrics on the job's validation set (all of the data where it has none):
//   loss, accuracy, samples, seconds, samples_per_second
// Pictures are resized to what the model takes.
nlohmann::json evaluate(const TrainedModel& trained, const Job& job, std::ostream* out);

// What the model makes of image files, or of all of them in a folder, or of rows (predict_rows.h): an
// array of {"file", "class", "label", "probability", "top": [...]}, in the order given; of rows "row" in
// place of "file", and "numbers" where numbers are predicted. A file that cannot be read or decoded is
// {"file", "error"}, and the others go on.
nlohmann::json predict(const TrainedModel& trained, const std::vector<std::string>& paths,
                       int64_t top, std::ostream* out);

// Decodes and resizes the job's data once and writes it as shards: OUT/train, OUT/val where there
// is a validation set, and OUT/classes.json. Train from it with data = "shards:OUT".
//   train_elements, val_elements, bytes, seconds
nlohmann::json prepare(const Job& job, std::ostream* out);

}  // namespace stoker::jobs
