// Job files: JSON and TOML.
#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"
#include "formats/json.h"
#include "jobs/job.h"
#include "jobs/toml.h"

namespace stoker::jobs {

namespace {

Job job_of(const nlohmann::json& keys) {
  Job job;
  update_job(job, keys);
  return job;
}

constexpr uint64_t kLargest = 1 << 20;

}  // namespace

Job parse_job_json(std::string_view text) { return job_of(parse_json(text, JsonComments::allow)); }

Job parse_job_toml(std::string_view text) { return job_of(json_of_toml(text)); }

Job read_job(const std::string& path) {
  bool toml = path.ends_with(".toml");
  if (!toml && !path.ends_with(".json"))
    throw FileError(path + ": a job file ends in .json or .toml");
  if (local_files().size(path) > kLargest)
    throw FileError(fmt::format("{}: larger than a job file can be ({} bytes)", path, kLargest));
  std::string text = read_text(path);
  try {
    return toml ? parse_job_toml(text) : parse_job_json(text);
  } catch (const Error& error) {
    throw FileError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace stoker::jobs
