// bench_doctor: injected faults, and what the doctor says about each. Automatic repairs are off
// (as_written) wherever the fault is one that they would repair. With --cores N the seeds run side by
// side, each in a process with so many cores of its own.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/options.h"
#include "common/timing.h"
#include "doctor/table.h"
#include "engine/registry.h"

namespace stoker::bench {
namespace {

struct Arguments : Options {
  int64_t cores = 0;   // of each seed; 0: one seed after the other, on all cores
  int64_t seed = 0;    // this one alone; 0: all
  std::string worker;  // where it puts what it found, for the process that asked
  double seconds = 0;  // no further fault of a seed begins after so long; 0: all do
  std::vector<Flag> flags() {
    return with(
        Options::flags(),
        {{"--cores", &cores}, {"--seed", &seed}, {"--worker", &worker}, {"--seconds", &seconds}});
  }
};

struct Results {
  std::vector<Found> all;
  std::vector<double> ratios;
};

std::vector<Fault> all_faults() {
  std::vector<Fault> list = cpu_faults(), everyday = everyday_faults();
  list.insert(list.end(), everyday.begin(), everyday.end());
  std::string why;
  std::vector<Fault> gpu = gpu_faults();
  if (is_usable("cuda", &why))
    list.insert(list.end(), gpu.begin(), gpu.end());
  else
    std::cout << fmt::format("skipped: {} faults that need a GPU ({})\n", gpu.size(), why);
  return list;
}

void put(const Results& results, const std::string& path) {
  nlohmann::json found = nlohmann::json::array();
  for (const Found& each : results.all) found.push_back(to_json(each));
  std::ofstream(path + ".new") << nlohmann::json{
      {"found", found},
      {"ratios", results.ratios}}.dump();
  std::rename((path + ".new").c_str(), path.c_str());
}

void take(const std::string& path, Results& results) {
  std::ifstream file(path);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  unlink(path.c_str());
  if (!json.is_object()) return;
  for (const auto& each : json["found"]) results.all.push_back(found_in(each));
  for (double ratio : json["ratios"]) results.ratios.push_back(ratio);
}

// Every seed begins with another fault: side by side, they do not all want the memory at once.
template <class Write>
void examine_all(const std::vector<Fault>& list, uint64_t seed, const Arguments& arguments,
                 Results& results, const Write& write) {
  double begin = now();
  auto has_time = [&] { return arguments.seconds <= 0 || now() - begin < arguments.seconds; };
  for (size_t i = 0; i < list.size() && has_time(); ++i) {
    const Fault& fault = list[(i + 3 * size_t(seed - 1)) % list.size()];
    if (!arguments.wants(fault.name)) continue;
    results.all.push_back(examine(fault, seed, arguments.profile));
    write();
  }
  if (!arguments.wants("tune") || !has_time()) return;
  results.ratios.push_back(tuned_ratio(seed, arguments.profile));
  write();
}

// This program again for one seed, on cores of its own.
pid_t start(uint64_t seed, const std::string& path, const Arguments& arguments) {
  pid_t child = fork();
  if (child < 0) throw Error("bench_doctor: no process can be started");
  if (child > 0) return child;
  cpu_set_t all, some;
  CPU_ZERO(&some);
  sched_getaffinity(0, sizeof(all), &all);
  int64_t first = int64_t(seed - 1) * arguments.cores, at = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all) && at++ >= first && at <= first + arguments.cores)
      CPU_SET(core, &some);
  if (CPU_COUNT(&some) < arguments.cores) _exit(3);
  sched_setaffinity(0, sizeof(some), &some);
  std::string number = std::to_string(seed), seconds = std::to_string(arguments.seconds);
  std::vector<const char*> words = {"bench_doctor", "--seed", number.c_str(),         "--worker",
                                    path.c_str(),   "--only", arguments.only.c_str(), "--seconds",
                                    seconds.c_str()};
  if (arguments.profile) words.push_back("--profile");
  words.push_back(nullptr);
  execv("/proc/self/exe", const_cast<char**>(words.data()));
  _exit(127);
}

// What a seed did not come to is missing, and said.
Results side_by_side(uint64_t seeds, const Arguments& arguments) {
  std::vector<pid_t> children;
  auto path_of = [](uint64_t seed) {
    return fmt::format("/tmp/bench-doctor-{}-{}.json", getpid(), seed);
  };
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    children.push_back(start(seed, path_of(seed), arguments));
  Results results;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    int status = 0;
    waitpid(children[seed - 1], &status, 0);
    if (status != 0) std::cout << fmt::format("seed {}: ended early (status {})\n", seed, status);
    take(path_of(seed), results);
  }
  return results;
}

// Every seed goes through all faults before the next, and the rows so far are written each time: a
// run that is cut has said as much about each fault.
int run(const Arguments& arguments) {
  std::vector<Fault> list = all_faults();
  Results results;
  auto write = [&] {
    if (!arguments.worker.empty()) put(results, arguments.worker);
    if (!arguments.json.empty())
      report_of(list, results.all, results.ratios).write_json(arguments.json);
  };
  uint64_t seeds = arguments.longer ? 5 : 1;
  if (arguments.seed > 0)
    examine_all(list, uint64_t(arguments.seed), arguments, results, write);
  else if (arguments.cores > 0)
    results = side_by_side(seeds, arguments);
  else
    for (uint64_t seed = 1; seed <= seeds; ++seed)
      examine_all(list, seed, arguments, results, write);
  if (!arguments.worker.empty()) return 0;
  write();
  Report report = report_of(list, results.all, results.ratios);
  report.print(std::cout);
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_doctor", argc, argv, stoker::bench::run);
}
