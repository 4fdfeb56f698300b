// One fault, examined: what the doctor said of it, what it promised, and what came of that.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "doctor/faults.h"

namespace stoker::bench {

// Seconds a step.
struct Promise {
  std::string of;
  double predicted = 0, achieved = 0;
};

struct Found {
  std::string fault = {}, expected = {}, named = {}, besides = {};
  bool right = false, repeated = false;
  double unexplained = 0;
  std::vector<Promise> promises = {};
};

// A finding with its cause: "input/jitter".
std::string label(std::string_view finding, Cause cause);

// `whole`: also prints all that the doctor says.
Found examine(const Fault& fault, uint64_t seed, bool whole);

// The rate of a tuned fit behind its trials, of that of the same fit with settings by hand.
double tuned_ratio(uint64_t seed, bool whole);

nlohmann::json to_json(const Found& found);
Found found_in(const nlohmann::json& json);

}  // namespace stoker::bench
