// Losses, metrics and optimisers as JSON: {"kind": …, "config": {…}}, and back. What is the user's own
// code is written by its name, with "custom".
#pragma once

#include <stoker/model.h>

#include "formats/json.h"

namespace stoker {

nlohmann::ordered_json described(const std::string& kind, const Attrs& config);
nlohmann::ordered_json described(const Loss& loss);
nlohmann::ordered_json described(const Metric& metric);
nlohmann::ordered_json described(const Optimizer& optimizer);

// ValueError says what is wrong, or what `objects` lacks.
Loss loss_from_json(const nlohmann::ordered_json& json, const CustomObjects& objects);
Metric metric_from_json(const nlohmann::ordered_json& json, const CustomObjects& objects);
Optimizer optimizer_from_json(const nlohmann::ordered_json& json, const CustomObjects& objects);

std::string kind_of(const nlohmann::ordered_json& json);
Attrs config_of(const nlohmann::ordered_json& json);

// A member of an object; ValueError in the name of `what`.
const nlohmann::ordered_json& json_field(const char* what, const nlohmann::ordered_json& json,
                                         const char* name,
                                         bool good_type(const nlohmann::ordered_json&));
bool is_json_object(const nlohmann::ordered_json& json);
bool is_json_array(const nlohmann::ordered_json& json);

}  // namespace stoker
