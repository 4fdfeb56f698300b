#include <sys/ioctl.h>
#include <unistd.h>

#include <ctime>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "commands.h"
#include "formats/json.h"
#include "jobs/monitor.h"

namespace stoker::app {

namespace {

constexpr double kFirstRead = 0.3;  // seconds: rates need two readings

void wait(double seconds) {
  timespec time{.tv_sec = time_t(seconds),
                .tv_nsec = long((seconds - double(time_t(seconds))) * 1e9)};
  nanosleep(&time, nullptr);
}

// The screen drawn over the one before: every line is cleared behind its end, and the rest below.
// Lines beyond the window's last would make it scroll.
std::string drawn(const std::string& screen) {
  winsize size{};
  int rows = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 1000;
  std::string text = "\x1b[H";
  for (size_t begin = 0; begin < screen.size() && rows > 1; --rows) {
    size_t end = screen.find('\n', begin);
    text += screen.substr(begin, end - begin) + "\x1b[K\n";
    begin = end + 1;
  }
  return text + "\x1b[J";
}

struct MonitorState {
  std::string folder;
  bool once = false;
  int64_t every = 1;
  Report report;

  bool json_to_people() const { return !report.json.empty() && &report.people() != &std::cout; }

  void show(const jobs::MonitorReading& reading) const {
    Terminal terminal = terminal_of(&std::cout);
    if (json_to_people() && !once)
      std::cout << dump_report(jobs::to_json(reading)) << "\n" << std::flush;
    else
      report.write(jobs::to_json(reading));
    if (json_to_people()) return;
    if (once)
      std::cout << monitor_screen(reading, terminal);
    else if (terminal.live)
      std::cout << drawn(monitor_screen(reading, terminal));
    else
      std::cout << monitor_line(reading);
    std::cout << std::flush;
  }

  int run() const {
    jobs::Monitor monitor(folder);
    wait(kFirstRead);
    while (std::cout) {
      jobs::MonitorReading reading = monitor.read();
      show(reading);
      if (once) return kOk;
      if (jobs::is_over(reading))
        return reading.run->state == jobs::RunState::failed ? kFailed : kOk;
      wait(double(every));
    }
    return kFailed;  // nothing can be shown any more
  }
};

}  // namespace

Command monitor_command() {
  auto state = std::make_shared<MonitorState>();
  return {
      .name = "monitor",
      .meaning = "Watch GPUs, cores and disks, and a running fit",
      .examples =
          "  stoker monitor                  this machine, until Ctrl-C\n"
          "  stoker monitor runs/a           until the run ends; exit status 1: it failed\n"
          "  stoker monitor --once           one screen\n"
          "  stoker monitor --json -         one line of JSON per reading",
      .options = {{"folder", "DIR", "The folder of a run; none: the machine alone", &state->folder},
                  {"--once", "", "One screen, then end", &state->once},
                  {"--every", "SECONDS", "Between readings [1]", &state->every}},
      .report = &state->report,
      .run = [state] { return state->run(); }};
}

}  // namespace stoker::app
