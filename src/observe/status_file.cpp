#include "observe/status_file.h"

#include <unistd.h>

#include <array>
#include <chrono>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "formats/json.h"
#include "observe/report_json.h"
#include "train/callbacks/event_log.h"

namespace stoker::doctor {

namespace {

constexpr std::array kStates = {"training", "finished", "failed"};

}  // namespace

std::string write_status(const std::string& folder, const FitProgress& progress,
                         const Diagnosis* now) {
  auto unix_time = std::chrono::system_clock::now().time_since_epoch();
  nlohmann::json metrics = nlohmann::json::array();
  for (const auto& [name, value] : progress.metrics)
    metrics.push_back({{"name", name}, {"value", value}});
  nlohmann::json status{
      {"stoker_status", 1},
      {"pid", getpid()},
      {"host", host_name()},
      {"time", std::chrono::duration_cast<std::chrono::milliseconds>(unix_time).count() * 1e-3},
      {"state", kStates[size_t(progress.state)]},
      {"epoch", progress.epoch + 1},
      {"epochs", progress.epochs},
      {"step", progress.step + 1},
      {"steps", progress.steps},
      {"seconds", progress.seconds},
      {"metrics", metrics}};
  if (progress.seconds_left >= 0) status["seconds_left"] = progress.seconds_left;
  if (!progress.reason.empty()) status["reason"] = progress.reason;
  if (now != nullptr) status["diagnosis"] = diagnosis_json(*now);
  try {
    local_files().create_directories(folder);
    write_file_atomically(folder + "/status.json", dump_report(status) + "\n", local_files(),
                          Durable::no);
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

}  // namespace stoker::doctor
