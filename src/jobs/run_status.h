// How the fit of a run's folder stands, from its status.json.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace stoker::jobs {

enum class RunState : uint8_t { waiting, training, finished, failed };
std::string_view name(RunState state);  // "waiting", …

struct RunStatus {
  RunState state = RunState::waiting;       // waiting: no fit has begun here yet
  std::string reason = {};                  // of a failure
  int64_t epoch = 0, epochs = 0, step = 0;  // from 1
  int64_t steps = -1;                       // of an epoch; -1: unknown
  double seconds = 0, seconds_left = -1;    // -1: unknown
  double age = 0;                           // seconds since the fit was last heard of
  std::vector<std::pair<std::string, double>> metrics = {};  // the loss first
  nlohmann::json diagnosis = {};  // the doctor's; null: too few steps so far
};

// FileError where there is no such folder, or its file is not the status of a fit. A process of this
// host that ended without a word has failed.
RunStatus read_run_status(const std::string& folder);

}  // namespace stoker::jobs
