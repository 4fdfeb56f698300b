#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file.h"
#include "jobs/data_spec.h"
#include "jobs/use_model.h"
#include "train/model/memory_table.h"

namespace stoker::jobs {

namespace {

int64_t bytes_in(const std::string& folder) {
  int64_t sum = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) sum += int64_t(entry.file_size());
  return sum;
}

// Shards say nothing of classes: their number is that of the names.
DataNames names_of(const JobData& data) {
  DataNames names = data.names;
  if (names.classes.empty())
    for (int64_t label = 0; label < data.classes; ++label)
      names.classes.push_back(std::to_string(label));
  return names;
}

}  // namespace

nlohmann::json prepare(const Job& job, std::ostream* out) {
  if (job.out.empty()) throw OptionError("out: where should the shards go?");
  check_job(job);
  double begin = double(steady_clock().now()) * 1e-9;
  JobData data = open_data(job);
  if (out != nullptr) *out << fmt::format("data    {}\n", data.text) << std::flush;
  local_files().create_directories(job.out);
  nlohmann::json result{{"out", job.out}, {"picture", to_string(data.picture)}};
  result["train_elements"] = plain_elements(data, data.train).save(job.out + "/train");
  if (data.validation)
    result["val_elements"] = plain_elements(data, *data.validation).save(job.out + "/val");
  write_names(job.out, names_of(data));
  double seconds = double(steady_clock().now()) * 1e-9 - begin;
  result["bytes"] = bytes_in(job.out);
  result["seconds"] = seconds;
  if (out != nullptr)
    *out << fmt::format("written {} in {:.1f} s to {}\ntrain with --data shards:{}\n",
                        human_bytes(result["bytes"].get<double>()), seconds, job.out, job.out);
  return result;
}

}  // namespace stoker::jobs
