#include "jobs/diagnose_job.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <stoker/doctor.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/printable.h"
#include "formats/json.h"
#include "jobs/data_spec.h"
#include "jobs/train_job.h"
#include "observe/device_monitor.h"
#include "observe/report_json.h"

namespace stoker::jobs {

namespace {

constexpr int64_t kUsualBatch = 32;
constexpr double kOld = 10;  // seconds

std::string gpu_lines() {
  DeviceMonitor monitor;
  std::string text;
  for (int i = 0; i < monitor.count(); ++i) {
    GpuState gpu = monitor.state(i);
    text += fmt::format(
        "GPU {} {}: use {:.0f} %, {:.1f} of {:.1f} GB, {:.0f} W, {} MHz, {:.0f} °C\n", i, gpu.name,
        100 * gpu.use, double(gpu.memory_bytes) * 1e-9, double(gpu.memory_total) * 1e-9,
        gpu.power_watts, gpu.clock_mhz, gpu.temperature);
  }
  return text.empty() ? monitor.why_not() + "\n" : text;
}

std::string share_bar(double share) {
  auto columns = size_t(std::lround(std::clamp(share, 0.0, 1.0) * 30));
  return std::string(columns, '#') + std::string(30 - columns, '.');
}

}  // namespace

nlohmann::json diagnose_job(const Job& job, int64_t steps, bool fix, std::ostream* out) {
  configure_context(job, out);
  JobData data = open_data(job);
  int64_t batch = job.batch.size > 0 ? job.batch.size : kUsualBatch;
  Model model = make_model(job, data.picture, data.classes);
  compile_model(job, model);
  if (out != nullptr)
    *out << data.text << "\nwatching " << steps << " steps of batch " << batch << " …\n\n"
         << std::flush;
  doctor::Diagnosis diagnosis =
      doctor::diagnose(model, training_batches(job, data, batch), {.steps = steps, .fix = fix});
  if (out != nullptr) *out << printable_lines(diagnosis.text());
  if (!job.out.empty()) {
    diagnosis.write(job.out);
    if (out != nullptr) *out << "Report: " << job.out << "/doctor.html\n";
  }
  return doctor::diagnosis_json(diagnosis);
}

std::string monitor_screen(const std::string& run_folder) {
  std::string path = run_folder + "/status.json";
  if (local_files().exists(run_folder) && !local_files().exists(path))
    return run_folder + ": no fit has told of itself here yet; one does after 60 steps\n\n" +
           gpu_lines();
  nlohmann::json status = try_parse_json(read_text(path));
  if (!status.is_object() || !status.contains("stoker_status") || status["stoker_status"] != 1)
    throw FileError(path + ": it is not the status of a fit");
  try {
    const nlohmann::json& now = status.at("diagnosis");
    auto unix_time =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
    double age = unix_time.count() - status.at("time").get<double>();
    std::string text =
        fmt::format("{}  epoch {}/{}  step {}{}{}\n", run_folder, status.at("epoch").get<int64_t>(),
                    status.at("epochs").get<int64_t>(), status.at("step").get<int64_t>(),
                    status.at("steps").get<int64_t>() > 0
                        ? fmt::format("/{}", status.at("steps").get<int64_t>())
                        : "",
                    age > kOld ? fmt::format("  (last heard {:.0f} s ago)", age) : "");
    text += now.at("verdict").at("sentence").get<std::string>() + "\n\n";
    text += fmt::format("{:.2f} ms a step, {:.0f} samples/s, limit: {}\n",
                        1e3 * now.at("step_seconds").get<double>(),
                        now.at("samples_per_second").get<double>(),
                        now.at("verdict").at("limit").get<std::string>());
    for (const auto& [owner, share] : now.at("shares").items())
      text += fmt::format("  {:<12} {} {:5.1f} %\n", owner, share_bar(share.get<double>()),
                          100 * share.get<double>());
    if (const nlohmann::json& pipeline = now.at("pipeline"); pipeline.is_object()) {
      auto workers = pipeline.at("workers").get<double>();
      if (workers == 0)
        text += "\npipeline: made by the training thread when it asks\n";
      else
        text += fmt::format(
            "\npipeline: {:.0f} worker{}, {:.0f} batches ahead, ready in {:.0f} % of steps\n",
            workers, workers == 1 ? "" : "s", pipeline.at("depth").get<double>(),
            100 * pipeline.at("ready_share").get<double>());
      for (const nlohmann::json& stage : pipeline.at("stages"))
        text += fmt::format("  {:<34} {:9.1f} µs an element\n", stage.at("name").get<std::string>(),
                            1e6 * stage.at("seconds_per_element").get<double>());
    }
    return printable_lines(text) + "\n" + gpu_lines();
  } catch (const nlohmann::json::exception& error) {
    throw FileError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace stoker::jobs
