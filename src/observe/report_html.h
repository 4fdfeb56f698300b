// The doctor's page.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace stoker::doctor {

// The page of page/, with this as its data: what is in doctor.json, a comparison of models
// (compress/compare_report.cpp) as "comparison", or both.
std::string page_of(const nlohmann::json& data);

}  // namespace stoker::doctor
