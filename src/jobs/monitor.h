// `stoker monitor`: one reading of the machine and of a run, as a screen, a line or JSON.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/terminal.h"
#include "jobs/run_status.h"
#include "observe/machine_state.h"

namespace stoker::jobs {

struct MonitorReading {
  std::string clock = {};   // "12:41:07"
  std::string folder = {};  // of the run; empty: the machine alone
  std::optional<RunStatus> run = {};
  MachineState machine = {};
};

class Monitor {
 public:
  // Of the run whose folder this is; empty: of the machine alone.
  explicit Monitor(std::string folder) : folder_(std::move(folder)) {}
  // FileError as read_run_status(). Rates are those since the reading before.
  MonitorReading read();

 private:
  std::string folder_;
  MachineWatch watch_;
};

// Whether there is nothing more to come.
bool is_over(const MonitorReading& reading);

// Lines no wider than the terminal; colours only where it has them.
std::string monitor_screen(const MonitorReading& reading, const Terminal& terminal);
// One line for logs and pipes.
std::string monitor_line(const MonitorReading& reading);
nlohmann::json to_json(const MonitorReading& reading);

}  // namespace stoker::jobs
