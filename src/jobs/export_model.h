// A trained model for others: by the ending of the file's name.
#pragma once

#include <iosfwd>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "jobs/run_folder.h"

namespace stoker::jobs {

// .onnx: the inference graph; .safetensors: the weights by name; .stoker: the model without the
// optimiser's state. ValueError lists the endings. Atomic. Returns {"model", "file", "format",
// "bytes"}.
nlohmann::json export_model(const TrainedModel& trained, const std::string& path,
                            std::ostream* out);

}  // namespace stoker::jobs
