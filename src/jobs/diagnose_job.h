// `stoker doctor` and `stoker monitor`.
#pragma once

#include <iosfwd>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "jobs/job.h"

namespace stoker::jobs {

// Trains the job for so many steps, lets the doctor examine it and prints the diagnosis to `out`.
// Saves only doctor.json and doctor.html in the job's `out`, where it has one. Returns the JSON.
nlohmann::json diagnose_job(const Job& job, int64_t steps, bool fix, std::ostream* out);

// How the fit whose folder this is stands, from its status.json, and the machine's GPUs: one screen
// of text. FileError where there is no such folder, or its file is not one of a fit.
std::string monitor_screen(const std::string& run_folder);

}  // namespace stoker::jobs
