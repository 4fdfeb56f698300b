#include "zoo/start.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <stoker/error.h>

#include "common/timing.h"

namespace stoker::bench {

namespace {

// Seconds of this program, run anew with --first.
double one_start(const std::string& network, const std::string& device) {
  double begin = now();
  pid_t child = fork();
  if (child < 0) throw Error("bench_zoo: no process can be started");
  if (child == 0) {
    execl("/proc/self/exe", "bench_zoo", "--first", network.c_str(), "--device", device.c_str(),
          nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw Error("bench_zoo: the first step of " + network + " failed");
  return now() - begin;
}

}  // namespace

void measure_start(const std::string& network, const std::string& device, Report& report) {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("bench-zoo-{}", getpid());
  std::filesystem::create_directory(folder);
  setenv("STOKER_PLANS", folder.c_str(), 1);  // NOLINT: one thread
  double first = one_start(network, device), second = one_start(network, device);
  double third = one_start(network, device);
  std::filesystem::remove_all(folder);
  std::cout << fmt::format("{}: {:.2f}, {:.2f}, {:.2f} s", network, first, second, third)
            << std::endl;
  report.add({.name = network + ": first start to first step",
              .value = first,
              .unit = "s",
              .better = Better::lower,
              .bar = 5});
  report.add({.name = network + ": third start to first step",
              .value = third,
              .unit = "s",
              .better = Better::lower,
              .bar = 1,
              .note = fmt::format("second {:.2f} s", second)});
}

}  // namespace stoker::bench
