#include "observe/status_file.h"

#include <unistd.h>

#include <chrono>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "formats/json.h"
#include "observe/report_json.h"

namespace stoker::doctor {

std::string write_status(const std::string& folder, const FitProgress& progress,
                         const Diagnosis& now) {
  auto unix_time = std::chrono::system_clock::now().time_since_epoch();
  nlohmann::json status{
      {"stoker_status", 1},
      {"pid", getpid()},
      {"time", std::chrono::duration_cast<std::chrono::milliseconds>(unix_time).count() * 1e-3},
      {"epoch", progress.epoch + 1},
      {"epochs", progress.epochs},
      {"step", progress.step + 1},
      {"steps", progress.steps},
      {"diagnosis", diagnosis_json(now)}};
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
