// The figures of the demo's two runs, side by side and in words. Pure functions.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace stoker::jobs {

// Milliseconds that each stage of a pipeline spends on a batch, by its name, from explain_json():
// [{"name", "ms_per_batch"}, …] in the order of the chain.
nlohmann::json stage_costs(const nlohmann::json& explained, int64_t batch);

// {"before", "after", "speedup", "same_weights"} of two runs' figures.
nlohmann::json comparison(const nlohmann::json& before, const nlohmann::json& after);
std::string comparison_table(const nlohmann::json& comparison);
// Plain sentences: what the first run lost, and where.
std::string what_was_lost(const nlohmann::json& comparison);

}  // namespace stoker::jobs
