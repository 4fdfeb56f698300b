#pragma once

#include <nlohmann/json_fwd.hpp>

#include <stoker/doctor.h>

namespace stoker {

// The contents of doctor.json.
nlohmann::json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace stoker
