// `stoker doctor`.
#pragma once

#include <iosfwd>

#include <nlohmann/json_fwd.hpp>

#include "jobs/job.h"

namespace stoker::jobs {

// Trains the job for so many steps, lets the doctor examine it and prints the diagnosis to `out`.
// Saves only doctor.json and doctor.html in the job's `out`, where it has one. Returns the JSON.
nlohmann::json diagnose_job(const Job& job, int64_t steps, bool fix, std::ostream* out);

}  // namespace stoker::jobs
