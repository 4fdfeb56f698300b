// The tuner, elements of uneven cost, and memory.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <stoker/dataset.h>
#include <nlohmann/json.hpp>

#include "base/cores.h"
#include "base/file.h"
#include "common/timing.h"
#include "data/node.h"
#include "pipeline/rows.h"

namespace stoker::bench {

using namespace data;

namespace {

constexpr double kElementSeconds = 200e-6;

Dataset working(const MapOptions& options) {
  return range(1'000'000'000)
      .map(
          [](int64_t x) {
            spin(kElementSeconds);
            return x;
          },
          options)
      .batch(16);
}

// Batches a second between two moments.
double rate(Iterator& iterator, double seconds) {
  double begin = now();
  int64_t batches = 0;
  while (now() - begin < seconds) {
    iterator.next();
    ++batches;
  }
  return double(batches) / (now() - begin);
}

void measure_autotune(const Wanted& wanted, Report& report) {
  std::string name = "autotune from all ones against the best static setting";
  if (!wanted(name)) return;
  double best = 0;
  int64_t best_workers = 0;
  for (int64_t workers = 1; workers <= available_cores() + 1; ++workers) {
    Dataset dataset = working({.parallel = workers}).prefetch(8);
    Iterator iterator = dataset.iterate();
    rate(iterator, 0.3);
    double measured = rate(iterator, 1.5 * wanted.scale);
    if (measured > best) best = measured, best_workers = workers;
  }
  std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("stoker-tuned-{}.json", getpid()))
          .string();
  Dataset dataset = working({}).prefetch(AUTOTUNE).with_options({.tuned = path});
  nlohmann::json ones{{"fingerprint", fingerprint(*dataset.node())}, {"workers", 1}, {"depth", 1}};
  write_file_atomically(path, ones.dump());
  Iterator iterator = dataset.iterate();
  rate(iterator, 3 * wanted.scale);  // to climb
  double tuned = rate(iterator, 3 * wanted.scale);
  nlohmann::json explained = nlohmann::json::parse(iterator.explain_json());
  std::filesystem::remove(path);
  report.add(
      {.name = name,
       .value = 100 * tuned / best,
       .unit = "%",
       .bar = 95,
       .limit = 100,
       .note = fmt::format("after 3 s: {} workers, depth {}, {:.0f} batches/s; best static: {} "
                           "workers, {:.0f} batches/s",
                           explained["workers"].get<double>(), explained["depth"].get<double>(),
                           tuned, best_workers, best)});
}

// One element in a hundred takes a hundred times as long; the consumer asks for 70 % of what the
// workers can do.
void measure_uneven(const Wanted& wanted, Report& report) {
  std::string name = "1 % of elements 100x slower, demand 0.7 x capacity: steps that wait";
  if (!wanted(name)) return;
  constexpr double kUsual = 20e-6;
  auto uneven = [](int64_t x) {
    spin(x % 100 == 37 ? 100 * kUsual : kUsual);
    return x;
  };
  Dataset dataset = range(1'000'000'000).shuffle().map(uneven).batch(32).prefetch(AUTOTUNE);
  Iterator iterator = dataset.iterate();
  rate(iterator, 1.0);
  double capacity = rate(iterator, 2 * wanted.scale);
  double period = 1 / (0.7 * capacity);
  // The tuner settles at this demand first.
  int64_t steps = 0, waits = 0;
  double begin = now(), due = begin, settled = begin + 4 * wanted.scale;
  while (now() < settled + 8 * wanted.scale) {
    due += period;
    double left = due - now();
    if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
    double asked = now();
    iterator.next();
    double waited = now() - asked;
    if (asked < settled) continue;
    ++steps;
    if (waited > 200e-6) ++waits;
  }
  report.add({.name = name,
              .value = 100 * double(waits) / double(steps),
              .unit = "%",
              .better = Better::lower,
              .bar = 0.5,
              .note = fmt::format("{} steps of {:.2f} ms", steps, period * 1e3)});
}

int64_t resident_bytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void measure_memory(const Wanted& wanted, Report& report) {
  std::string name = "memory of the pipeline at most, of its budget";
  if (!wanted(name) && !wanted("growth over 3 epochs")) return;
  constexpr int64_t kBudget = 48'000'000;
  Dataset dataset = range(20'000)
                        .shuffle()
                        .map(
                            [](int64_t x) {
                              return Tensor::full({64, 64}, double(x));
                            },
                            {.spec = ElementSpec{{DType::float32, {64, 64}}}})
                        .cache()
                        .batch(64)
                        .prefetch(4)
                        .with_budget({.bytes = kBudget});
  Iterator iterator = dataset.iterate({.epochs = 5});
  int64_t first = 0, last = 0;
  for (int epoch = 0; epoch < 5; ++epoch) {
    while (iterator.next() != nullptr) {
    }
    (epoch <= 1 ? first : last) = resident_bytes();
  }
  nlohmann::json explained = nlohmann::json::parse(iterator.explain_json());
  report.add({.name = name,
              .value = 100 * explained["memory_peak_bytes"].get<double>() / double(kBudget),
              .unit = "%",
              .better = Better::lower,
              .bar = 100,
              .note = "a cache that would need seven times the budget"});
  report.add({.name = "growth over 3 epochs",
              .value = double(last - first) * 1e-6,
              .unit = "MB",
              .better = Better::lower,
              .bar = 1,
              .note = "resident memory after epoch 5 less after epoch 2"});
}

}  // namespace

namespace {

double churn(int64_t rounds) {
  double x = 0.5;
  for (int64_t i = 0; i < rounds; ++i) x = x * 1.0000001 + 1e-9;
  return x;
}

}  // namespace

void spin(double seconds) {
  static const double rounds_per_second = [] {
    double best = 0;
    for (int i = 0; i < 20; ++i) {
      double begin = now();
      volatile double keep = churn(200'000);
      (void)keep;
      best = std::max(best, 200'000 / (now() - begin));
    }
    return best;
  }();
  volatile double keep = churn(int64_t(seconds * rounds_per_second));
  (void)keep;
}

void measure_tuning(const Wanted& wanted, Report& report) {
  measure_autotune(wanted, report);
  measure_uneven(wanted, report);
  measure_memory(wanted, report);
}

}  // namespace stoker::bench
