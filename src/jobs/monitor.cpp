#include "jobs/monitor.h"

#include <ctime>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

namespace stoker::jobs {

namespace {

using nlohmann::json;

std::string clock_now() {
  std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return text.data();
}

// Null: not known.
json known(double number) { return number < 0 || std::isnan(number) ? json() : json(number); }

json gpu_json(const WatchedGpu& gpu) {
  const GpuState& state = gpu.state;
  json processes = json::array();
  for (const GpuProcess& process : gpu.processes)
    processes.push_back({{"pid", process.pid},
                         {"name", process.name},
                         {"memory_bytes", known(double(process.bytes))}});
  return {{"name", state.name},
          {"use", known(state.use)},
          {"occupancy", known(gpu.activity.occupancy)},
          {"tensor_use", known(gpu.activity.tensor_use)},
          {"memory_bytes", known(double(state.memory_bytes))},
          {"memory_total_bytes", known(double(state.memory_total))},
          {"power_watts", known(state.power_watts)},
          {"power_limit_watts", known(state.power_limit_watts)},
          {"temperature", known(state.temperature)},
          {"clock_mhz", known(state.clock_mhz)},
          {"clock_max_mhz", known(state.clock_max_mhz)},
          {"throttle_reasons", state.throttle_reasons},
          {"processes", processes}};
}

json run_json(const RunStatus& run, const std::string& folder) {
  json metrics = json::object();
  for (const auto& [metric, value] : run.metrics) metrics[metric] = value;
  return {{"folder", folder},
          {"state", name(run.state)},
          {"reason", run.reason},
          {"epoch", run.epoch},
          {"epochs", run.epochs},
          {"step", run.step},
          {"steps", run.steps < 0 ? json() : json(run.steps)},
          {"seconds", run.seconds},
          {"seconds_left", known(run.seconds_left)},
          {"seconds_since_heard", run.age},
          {"metrics", metrics},
          {"diagnosis", run.diagnosis}};
}

}  // namespace

MonitorReading Monitor::read() {
  MonitorReading reading{.clock = clock_now(), .folder = folder_};
  if (!folder_.empty()) reading.run = read_run_status(folder_);
  reading.machine = watch_.read();
  return reading;
}

bool is_over(const MonitorReading& reading) {
  return reading.run &&
         (reading.run->state == RunState::finished || reading.run->state == RunState::failed);
}

json to_json(const MonitorReading& reading) {
  const MachineState& machine = reading.machine;
  json gpus = json::array(), disks = json::array(), file_systems = json::array();
  for (const WatchedGpu& gpu : machine.gpus) gpus.push_back(gpu_json(gpu));
  for (const DiskState& disk : machine.disks)
    disks.push_back({{"name", disk.name},
                     {"read_bytes_per_second", disk.read_rate},
                     {"written_bytes_per_second", disk.write_rate},
                     {"busy", disk.busy}});
  for (const FileSystemState& each : machine.file_systems)
    file_systems.push_back(
        {{"folder", each.folder}, {"total_bytes", each.total}, {"free_bytes", each.free}});
  json result{
      {"clock", reading.clock},
      {"gpus", gpus},
      {"cores", machine.cores},
      {"usable_cores", machine.usable_cores},
      {"memory", {{"total_bytes", machine.memory_total}, {"free_bytes", machine.memory_free}}},
      {"disks", disks},
      {"file_systems", file_systems}};
  if (!machine.no_gpu.empty()) result["no_gpu"] = machine.no_gpu;
  if (reading.run) result["run"] = run_json(*reading.run, reading.folder);
  return result;
}

}  // namespace stoker::jobs
