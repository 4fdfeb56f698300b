// How a reading looks on a terminal and in a log.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "jobs/monitor.h"
#include "train/fit/progress.h"

namespace stoker::jobs {

namespace {

constexpr int kLabel = 14, kBar = 28, kRoomForBars = 64;
constexpr double kOld = 10;       // seconds after which a fit counts as silent
constexpr size_t kProcesses = 6;  // per GPU
constexpr size_t kCoreMarks = 64;
constexpr double kShown = 0.005;  // shares of a step

std::string size_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.1f} GB", bytes * 1e-9);
  return bytes >= 1e6 ? fmt::format("{:.1f} MB", bytes * 1e-6)
                      : fmt::format("{:.0f} KB", bytes * 1e-3);
}

std::string of_text(int64_t part, int64_t whole) {
  return fmt::format("{:.1f} of {:.1f} GB", double(part) * 1e-9, double(whole) * 1e-9);
}

double mean(const std::vector<double>& shares) {
  double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  return shares.empty() ? 0 : sum / double(shares.size());
}

class Screen {
 public:
  explicit Screen(const Terminal& terminal) : terminal_(terminal) {}

  void blank() { text_ += "\n"; }

  // A label in its column, then parts; those that do not fit into the width are left out.
  void row(const std::string& label, const std::vector<std::string>& parts) {
    std::string line = fmt::format("{:<{}}", label, kLabel);
    int width = columns(line);
    for (const std::string& part : parts) {
      if (part.empty()) continue;
      int more = columns(part), room = terminal_.width - 1 - width;
      if (more > room && width > kLabel) break;
      line += (more > room ? shortened(part, std::max(room, 1)) : part) + "   ";
      width += more + 3;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text_ += line + "\n";
  }

  void bar(const std::string& label, double share, const std::vector<std::string>& parts) {
    std::vector<std::string> all = parts;  // figures matter more than bars
    if (terminal_.width >= kRoomForBars)
      all.insert(all.begin(), progress_bar(share, bar_width(), terminal_.colour));
    row(label, all);
  }

  // Words that go on in the next line.
  void paragraph(const std::string& words) {
    size_t room = size_t(std::max(terminal_.width - 1 - kLabel, 20));
    std::string rest = words;
    while (!rest.empty()) {
      size_t end = rest.size() <= room ? rest.size() : rest.rfind(' ', room);
      if (end == std::string::npos || end == 0) end = std::min(room, rest.size());
      row("", {rest.substr(0, end)});
      rest.erase(0, end < rest.size() ? end + 1 : end);
    }
  }

  std::string marked(const std::string& words, const char* colour) const {
    return terminal_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, words) : words;
  }
  std::string bad(const std::string& words) const { return marked(words, "31"); }
  std::string good(const std::string& words) const { return marked(words, "32"); }
  std::string bold(const std::string& words) const { return marked(words, "1"); }

  std::string text() && { return std::move(text_); }

 private:
  int bar_width() const { return std::clamp(terminal_.width - 60, 10, kBar); }

  // The first columns of a text without colours.
  static std::string shortened(const std::string& text, int room) {
    size_t end = 0;
    for (int count = 0; end < text.size(); ++end)
      if ((uint8_t(text[end]) & 0xC0) != 0x80 && ++count >= room) break;
    return text.find('\x1b') == std::string::npos ? text.substr(0, end) + "…" : text;
  }

  // On the screen: neither the bytes that continue a character nor colours take any.
  static int columns(const std::string& text) {
    int count = 0;
    bool escape = false;
    for (char c : text) {
      if (c == '\x1b') escape = true;
      if (!escape && (uint8_t(c) & 0xC0) != 0x80) ++count;
      if (escape && c == 'm') escape = false;
    }
    return count;
  }

  Terminal terminal_;
  std::string text_;
};

std::vector<std::string> metric_parts(const RunStatus& run) {
  std::vector<std::string> parts;
  for (const auto& [metric, value] : run.metrics)
    parts.push_back(fmt::format("{} {:.4g}", printable(metric), value));
  return parts;
}

std::string step_text(const RunStatus& run) {
  return run.steps > 0 ? fmt::format("{}/{}", run.step, run.steps) : fmt::format("{}", run.step);
}

std::string left_text(const RunStatus& run) {
  return run.seconds_left < 0 ? "" : clock_time(run.seconds_left) + " left";
}

void show_state(const RunStatus& run, Screen& screen) {
  std::string epoch = fmt::format("epoch {}/{}", run.epoch, run.epochs);
  std::string passed = fmt::format("{} passed", clock_time(run.seconds));
  switch (run.state) {
    case RunState::waiting:
      screen.row("run", {"no fit has begun here yet"});
      return;
    case RunState::training:
      screen.bar(epoch, run.steps > 0 ? double(run.step) / double(run.steps) : 0,
                 {"step " + step_text(run), left_text(run), passed});
      break;
    case RunState::finished:
      screen.row("run", {screen.good("finished"), epoch, "step " + step_text(run), passed});
      break;
    case RunState::failed:
      screen.row("run", {screen.bad("failed"), epoch, "step " + step_text(run), passed});
      screen.paragraph(printable(run.reason));
      break;
  }
  if (run.state == RunState::training && run.age > kOld)
    screen.row("", {screen.bad(fmt::format("last heard {:.0f} s ago", run.age))});
  if (!run.metrics.empty()) screen.row("", metric_parts(run));
}

// What the doctor said last.
void show_diagnosis(const nlohmann::json& now, Screen& screen) {
  if (!now.is_object()) return;
  screen.row("speed",
             {fmt::format("{:.2f} ms per step", 1e3 * now.at("step_seconds").get<double>()),
              fmt::format("{:.0f} samples/s", now.at("samples_per_second").get<double>()),
              "limit: " + now.at("verdict").at("limit").get<std::string>()});
  screen.paragraph(printable(now.at("verdict").at("sentence").get<std::string>()));
  for (const auto& [owner, share] : now.at("shares").items()) {
    if (share.get<double>() < kShown) continue;
    screen.bar("  " + owner, share.get<double>(),
               {fmt::format("{:.1f} %", 100 * share.get<double>())});
  }
  const nlohmann::json& pipeline = now.at("pipeline");
  if (!pipeline.is_object()) return;
  auto workers = pipeline.at("workers").get<double>();
  if (workers == 0) {
    screen.row("pipeline", {"batches are made by the training thread"});
    return;
  }
  screen.row(
      "pipeline",
      {fmt::format("{:.0f} worker{}", workers, workers == 1 ? "" : "s"),
       fmt::format("{:.0f} batches prefetched", pipeline.at("depth").get<double>()),
       fmt::format("ready in {:.0f} % of steps", 100 * pipeline.at("ready_share").get<double>())});
}

std::string share_text(const char* words, double share) {
  return share < 0 ? "" : fmt::format("{}{:.0f} %", words, 100 * share);
}

void show_gpu(size_t index, const WatchedGpu& gpu, Screen& screen) {
  const GpuState& state = gpu.state;
  screen.row(fmt::format("GPU {}", index), {screen.bold(printable(state.name))});
  if (state.use >= 0)
    screen.bar("  use", state.use,
               {share_text("", state.use), share_text("occupancy ", gpu.activity.occupancy),
                share_text("tensor cores ", gpu.activity.tensor_use)});
  if (state.memory_total > 0)
    screen.bar("  memory", double(state.memory_bytes) / double(state.memory_total),
               {of_text(state.memory_bytes, state.memory_total)});
  if (state.power_watts >= 0 && state.power_limit_watts > 0)
    screen.bar("  power", state.power_watts / state.power_limit_watts,
               {fmt::format("{:.0f} of {:.0f} W", state.power_watts, state.power_limit_watts),
                state.temperature < 0 ? "" : fmt::format("{:.0f} °C", state.temperature)});
  if (state.clock_max_mhz > 0)
    screen.bar("  clock", double(state.clock_mhz) / state.clock_max_mhz,
               {fmt::format("{} of {} MHz", state.clock_mhz, state.clock_max_mhz)});
  if (!state.throttle_reasons.empty())
    screen.row(
        "", {screen.bad(fmt::format("held back by {}", fmt::join(state.throttle_reasons, ", ")))});
  for (size_t i = 0; i < std::min(gpu.processes.size(), kProcesses); ++i) {
    const GpuProcess& process = gpu.processes[i];
    screen.row(i == 0 ? "  in use by" : "",
               {fmt::format("{} {}", process.pid, printable(process.name)),
                process.bytes < 0 ? "" : size_text(double(process.bytes))});
  }
  if (gpu.processes.size() > kProcesses)
    screen.row("", {fmt::format("and {} more", gpu.processes.size() - kProcesses)});
}

// One mark per core, higher for more use.
std::string core_marks(const std::vector<double>& cores) {
  static constexpr std::array kMarks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (cores.size() > kCoreMarks) return "";
  std::string text;
  for (double use : cores) text += kMarks[std::min(size_t(use * kMarks.size()), kMarks.size() - 1)];
  return text;
}

void show_machine(const MachineState& machine, Screen& screen) {
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    show_gpu(i, machine.gpus[i], screen);
    screen.blank();
  }
  if (machine.gpus.empty()) screen.row("GPU", {"none: " + machine.no_gpu});
  std::string usable = machine.usable_cores < int(machine.cores.size())
                           ? fmt::format("{} may be used here", machine.usable_cores)
                           : "";
  screen.bar("cores", mean(machine.cores),
             {fmt::format("{:.0f} % of {}", 100 * mean(machine.cores), machine.cores.size()),
              core_marks(machine.cores), usable});
  if (machine.memory_total > 0)
    screen.bar("memory", 1 - double(machine.memory_free) / double(machine.memory_total),
               {of_text(machine.memory_free, machine.memory_total) + " free"});
  for (const DiskState& disk : machine.disks)
    screen.bar(printable(disk.name), disk.busy,
               {fmt::format("{:.0f} % busy", 100 * disk.busy),
                size_text(disk.read_rate) + "/s read", size_text(disk.write_rate) + "/s written"});
  for (const FileSystemState& each : machine.file_systems)
    screen.bar("space", 1 - double(each.free) / double(std::max<int64_t>(each.total, 1)),
               {of_text(each.free, each.total) + " free", printable(each.folder)});
}

}  // namespace

std::string monitor_screen(const MonitorReading& reading, const Terminal& terminal) {
  Screen screen(terminal);
  std::string title = reading.folder.empty() ? "this machine" : printable(reading.folder);
  screen.row(reading.clock, {screen.bold(title)});
  screen.blank();
  if (reading.run) {
    show_state(*reading.run, screen);
    show_diagnosis(reading.run->diagnosis, screen);
    screen.blank();
  }
  show_machine(reading.machine, screen);
  return std::move(screen).text();
}

std::string monitor_line(const MonitorReading& reading) {
  std::vector<std::string> parts = {reading.clock};
  if (reading.run) {
    const RunStatus& run = *reading.run;
    parts.emplace_back(name(run.state));
    if (run.state != RunState::waiting)
      parts.push_back(fmt::format("epoch {}/{}  step {}", run.epoch, run.epochs, step_text(run)));
    for (std::string& metric : metric_parts(run)) parts.push_back(std::move(metric));
    parts.push_back(left_text(run));
    if (run.diagnosis.is_object())
      parts.push_back("limit: " + run.diagnosis.at("verdict").at("limit").get<std::string>());
    parts.push_back(printable(run.reason));
  }
  for (size_t i = 0; i < reading.machine.gpus.size(); ++i) {
    const GpuState& gpu = reading.machine.gpus[i].state;
    parts.push_back(fmt::format("GPU {}: {:.0f} %, {:.1f} GB, {:.0f} W{}", i, 100 * gpu.use,
                                double(gpu.memory_bytes) * 1e-9, gpu.power_watts,
                                gpu.throttle_reasons.empty() ? "" : ", held back"));
  }
  parts.push_back(fmt::format("cores {:.0f} %", 100 * mean(reading.machine.cores)));
  double read = 0, written = 0;
  for (const DiskState& disk : reading.machine.disks)
    read += disk.read_rate, written += disk.write_rate;
  if (!reading.machine.disks.empty())
    parts.push_back(
        fmt::format("disks {}/s read, {}/s written", size_text(read), size_text(written)));
  std::erase(parts, "");
  return fmt::format("{}\n", fmt::join(parts, "  "));
}

}  // namespace stoker::jobs
