// The doctor's findings as JSON: doctor.json and the data of its page.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <stoker/doctor.h>

namespace stoker::doctor {

// The contents of doctor.json.
nlohmann::json diagnosis_json(const Diagnosis& diagnosis);

// Parts that other files have too.
nlohmann::json to_json(const StepShares& shares);
nlohmann::json to_json(const LayerReport& layer);
nlohmann::json to_json(const MemoryUse& memory);

}  // namespace stoker::doctor
