// `stoker doctor`.
#pragma once

#include <iosfwd>

#include <nlohmann/json_fwd.hpp>

#include "jobs/job.h"

namespace stoker::jobs {

// Trains the job for so many steps under the doctor's eyes and tells people what it found; nothing
// is saved but doctor.json and doctor.html in the job's `out`, where it has one. Returns the JSON.
nlohmann::json diagnose_job(const Job& job, int64_t steps, bool fix, std::ostream* out);

}  // namespace stoker::jobs
