#include "jobs/run_status.h"

#include <csignal>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"
#include "formats/json.h"
#include "train/callbacks/event_log.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> kStates = {"waiting", "training", "finished", "failed"};

RunState state_of(const json& status) {
  std::string text = status.value("state", "training");
  for (size_t i = 0; i < kStates.size(); ++i)
    if (kStates[i] == text) return RunState(i);
  throw FileError(fmt::format("unknown state \"{}\"", text));
}

bool has_ended(const json& status) {
  int pid = status.value("pid", 0);
  return pid > 0 && status.value("host", "") == host_name() && ::kill(pid, 0) != 0 &&
         errno == ESRCH;
}

RunStatus parse(const json& status) {
  RunStatus run{.state = state_of(status),
                .reason = status.value("reason", ""),
                .epoch = status.at("epoch"),
                .epochs = status.at("epochs"),
                .step = status.at("step"),
                .steps = status.at("steps"),
                .seconds = status.value("seconds", 0.0),
                .seconds_left = status.value("seconds_left", -1.0),
                .diagnosis = status.value("diagnosis", json())};
  auto unix_time =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  run.age = unix_time.count() - status.at("time").get<double>();
  for (const json& metric : status.value("metrics", json::array())) {
    const json& value = metric.at("value");  // null: not a finite number
    run.metrics.emplace_back(metric.at("name"), value.is_number() ? value.get<double>() : NAN);
  }
  return run;
}

RunStatus read_file(const std::string& path, bool& ended) {
  json status = try_parse_json(read_text(path));
  if (!status.is_object() || !status.contains("stoker_status") || status["stoker_status"] != 1)
    throw FileError(path + ": it is not the status of a fit");
  try {
    RunStatus run = parse(status);
    ended = run.state == RunState::training && has_ended(status);
    return run;
  } catch (const json::exception& error) {
    throw FileError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace

std::string_view name(RunState state) { return kStates[size_t(state)]; }

RunStatus read_run_status(const std::string& folder) {
  std::string path = folder + "/status.json";
  if (!local_files().exists(folder))
    throw FileError(
        fmt::format("{}: there is no such folder; give the --out of a `stoker train` that runs or "
                    "has run, or no "
                    "folder to watch the machine alone",
                    folder));
  if (!local_files().exists(path)) return {};
  bool ended = false;
  RunStatus run = read_file(path, ended);
  if (!ended) return run;
  run = read_file(path, ended);  // what the process wrote last may have come in between
  if (!ended) return run;
  run.state = RunState::failed;
  run.reason = "its process ended without saying why";
  return run;
}

}  // namespace stoker::jobs
