// bench_pages: pipelining is never slower. Page 000's chain and those of the 15 examples, with small
// and large steps, on one, two and four cores: a chain without any setting, the plain loop (every
// stage on its own, by the thread that trains), and settings by hand take turns. A row is the time
// of the bare chain as a share of the plain loop's, and as a share of the best setting's by hand;
// the note has the 95 % interval of the paired ratios, and the bar is met unless all of it is above. Every number of cores is a process of its
// own: OpenMP counts them once.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/cores.h"
#include "common/options.h"
#include "common/report.h"
#include "common/timing.h"
#include "pages/cases.h"

namespace stoker::bench {

namespace {

struct Arguments : Options {
  int64_t cores = 0;            // so many alone; 0: one, two and four
  int64_t part = 0, parts = 1;  // every so many-th case
  double seconds = 1.5;         // for all contenders of a row together
  std::vector<Flag> flags() {
    return with(
        Options::flags(),
        {{"--cores", &cores}, {"--part", &part}, {"--parts", &parts}, {"--seconds", &seconds}});
  }
};

constexpr double kTurn = 0.1;  // seconds that a contender trains in its turn
constexpr const char* kRowsFile = "STOKER_BENCH_PAGES_ROWS";  // set: this process is a worker

struct Contestant {
  std::string name;
  int compute = 0;  // threads
  ChainSettings settings = {};
  bool loop = false;  // arrays: a loop over slices instead of fit
};

std::vector<Contestant> contestants(const Case& test, int64_t cores) {
  if (!test.chain)
    return {{.name = "bare"}, {.name = "plain", .loop = true}, {.name = "1 thread", .compute = 1}};
  int64_t many = test.waits ? 8 : cores;
  return {{.name = "bare"},
          {.name = "plain", .settings = {.parallel = 1, .depth = 0, .as_written = true}},
          {.name = "1 thread, 1 worker", .compute = 1, .settings = {.parallel = 1, .depth = 4}},
          {.name = fmt::format("{} workers", many), .settings = {.parallel = many, .depth = 8}},
          {.name = "no worker", .settings = {.parallel = 1, .depth = 0}}};
}

// One contestant's model and data; a turn is a fit of as many epochs as fill it.
class Trainer {
 public:
  Trainer(const Case& test, const Contestant& contestant, bool large)
      : test_(test), contestant_(contestant), model_(model_for(test.sample, large)) {
    if (test.chain) dataset_.emplace(test.chain(contestant.settings));
  }
  void epochs(int64_t count) {
    default_context().threads.compute = contestant_.compute;
    if (dataset_)
      model_.fit(*dataset_, {.epochs = count, .verbose = 0});
    else if (!contestant_.loop)
      model_.fit(test_.x, test_.y,
                 {.epochs = count, .batch_size = kBatch, .shuffle = false, .verbose = 0});
    else
      for (int64_t epoch = 0; epoch < count; ++epoch) loop();
    default_context().threads.compute = 0;
  }

 private:
  static constexpr int64_t kBatch = 32;
  void loop() {
    for (int64_t row = 0; row + kBatch <= test_.x.shape()[0]; row += kBatch)
      model_.train_on_batch(test_.x.slice(row, row + kBatch), test_.y.slice(row, row + kBatch));
  }

  const Case& test_;
  Contestant contestant_;
  Sequential model_;
  std::optional<data::Dataset> dataset_;
};

struct Ratio {
  double mean = 1, low = 1, high = 1;  // of a / b; 95 %
};

// Of the logarithms of the pairs: a ratio and its inverse count the same.
Ratio ratio_of(const Samples& a, const Samples& b) {
  std::vector<double> left = a.block_medians(1), right = b.block_medians(1);
  size_t count = std::min(left.size(), right.size());
  std::vector<double> logs;
  for (size_t i = 0; i < count; ++i) logs.push_back(std::log(left[i] / right[i]));
  std::ranges::sort(logs);
  // The median and its distribution-free interval: pairs that met another program on their core do
  // not move it far.
  auto at = [&](double place) {
    return std::exp(logs[size_t(std::clamp(place, 0.0, double(count - 1)))]);
  };
  double half = 0.98 * std::sqrt(double(count));
  return {at(double(count - 1) / 2 + 0.5), at(std::floor(double(count) / 2 - half)),
          at(std::ceil(double(count) / 2 + half) - 1)};
}

nlohmann::json row(const std::string& name, const Ratio& ratio, double bar, const Samples& own,
                   const std::string& other, const Samples& of_other, int64_t epochs) {
  double ms = 1e3 / double(epochs);
  return {{"name", name},
          {"value", ratio.mean},
          {"bar", bar + ratio.mean - ratio.low},
          {"other", other},
          {"other_ms", of_other.median() * ms},
          {"note", fmt::format("{:.2f}–{:.2f}; {:.2f} ms per epoch, {} pairs", ratio.low,
                               ratio.high, own.median() * ms, own.count())}};
}

void measure(const Case& test, bool large, int cores, double seconds, nlohmann::json& rows) {
  std::vector<Contestant> list = contestants(test, cores);
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (const Contestant& contestant : list)
    trainers.push_back(std::make_unique<Trainer>(test, contestant, large));
  for (auto& trainer : trainers) trainer->epochs(1);
  double begin = now();
  trainers[1]->epochs(2);
  auto epochs = int64_t(std::clamp(kTurn / std::max((now() - begin) / 2, 1e-4), 1.0, 200.0));
  if (test.epochs > 0 && !large) epochs = test.epochs;
  std::vector<Contender> contenders;
  for (size_t i = 0; i < list.size(); ++i)
    contenders.push_back({list[i].name, [&trainers, i, epochs] { trainers[i]->epochs(epochs); }});
  std::vector<Samples> samples =
      take_turns(contenders, {.warm_up = 2, .block = 1, .seconds = seconds, .least_rounds = 5});
  size_t best = 2;
  for (size_t i = 3; i < list.size(); ++i)
    if (samples[i].median() < samples[best].median()) best = i;
  std::string name = fmt::format("{}, {} steps, {} core{}", test.name, large ? "large" : "small",
                                 cores, cores == 1 ? "" : "s");
  rows.push_back(row(name + " / plain loop", ratio_of(samples[0], samples[1]), 1.0, samples[0],
                     "plain loop", samples[1], epochs));
  rows.push_back(row(name + " / by hand", ratio_of(samples[0], samples[best]), 1.03, samples[0],
                     list[best].name, samples[best], epochs));
}

// Rows are written after every case: a worker that fails leaves what it has.
int work(const Arguments& options, const std::string& path) {
  nlohmann::json rows = nlohmann::json::array();
  double seconds = options.longer ? 12.0 : options.seconds;
  std::vector<Case> all = cases();
  for (size_t i = size_t(options.part); i < all.size(); i += size_t(options.parts))
    for (bool large : {false, true}) {
      const Case& test = all[i];
      std::string name = test.name + (large ? ", large" : ", small");
      if (name.find(options.only) == std::string::npos) continue;
      measure(test, large, available_cores(), seconds, rows);
      std::ofstream(path) << rows.dump();
    }
  return 0;
}

// This program again, on so many of its cores.
nlohmann::json rows_on(int cores, const Arguments& options) {
  std::string path = fmt::format("/tmp/bench-pages-{}-{}.json", getpid(), cores);
  pid_t child = fork();
  if (child < 0) throw Error("bench_pages: no process can be started");
  if (child == 0) {
    cpu_set_t all, some;
    CPU_ZERO(&some);
    sched_getaffinity(0, sizeof(all), &all);
    for (int core = 0, taken = 0; core < CPU_SETSIZE && taken < cores; ++core)
      if (CPU_ISSET(core, &all)) CPU_SET(core, &some), ++taken;
    sched_setaffinity(0, sizeof(some), &some);
    setenv(kRowsFile, path.c_str(), 1);  // NOLINT: one thread
    std::string part = std::to_string(options.part), parts = std::to_string(options.parts),
                seconds = std::to_string(options.seconds);
    std::vector<const char*> words = {"bench_pages", "--only",     options.only.c_str(),
                                      "--part",      part.c_str(), "--parts",
                                      parts.c_str(), "--seconds",  seconds.c_str()};
    if (options.longer) words.push_back("--long");
    words.push_back(nullptr);
    execv("/proc/self/exe", const_cast<char**>(words.data()));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw Error(fmt::format("bench_pages: the run on {} cores failed", cores));
  std::ifstream file(path);
  nlohmann::json rows = nlohmann::json::parse(file, nullptr, false);
  unlink(path.c_str());
  return rows.is_array() ? rows : nlohmann::json::array();
}

int run(const Arguments& options) {
  if (const char* path = std::getenv(kRowsFile)) return work(options, path);
  Report report;
  for (int cores : {1, 2, 4}) {
    if (options.cores > 0 && cores != options.cores) continue;
    if (cores > available_cores()) {
      std::cout << fmt::format("{} cores: not on this machine, which has {}\n", cores,
                               available_cores());
      continue;
    }
    for (const auto& each : rows_on(cores, options))
      report.add({.name = each["name"],
                  .value = each["value"],
                  .unit = "of its time",
                  .better = Better::lower,
                  .bar = each["bar"].get<double>(),
                  .peers = {{each["other"], each["other_ms"], "ms per epoch"}},
                  .note = each["note"]});
  }
  finish(report, options);
  return 0;
}

}  // namespace

}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_pages", argc, argv, stoker::bench::run);
}
