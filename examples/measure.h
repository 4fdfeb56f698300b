// Measuring, for the programs in the folders beside this file. Two forms of the same work run in
// turns, so that whatever else the machine does slows both alike. Medians are printed, and a
// difference is claimed only where the 95 % interval of the pairs' ratios excludes 1.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stoker/stoker.h>

struct Form {
  const char* name;
  std::function<void()> run;
};

inline double seconds_of(const std::function<void()>& work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// One line: the name, the median and the range.
inline void print_milliseconds(const char* name, const std::vector<double>& seconds) {
  auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
  std::printf("%-40s %9.2f ms (%.2f–%.2f)\n", name, 1e3 * median(seconds), 1e3 * *low, 1e3 * *high);
}

// How many times as fast: the geometric mean of the pairs' ratios with Student's 95 % interval.
struct Gain {
  double mean, low, high;
  bool clear() const { return low > 1 || high < 1; }
};

inline Gain gain_of(const std::vector<double>& ratios) {
  constexpr double kStudent[] = {12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20};
  double count = double(ratios.size()), sum = 0, squares = 0;
  for (double ratio : ratios) sum += std::log(ratio);
  for (double ratio : ratios) squares += std::pow(std::log(ratio) - sum / count, 2);
  double reach =
      kStudent[std::min<size_t>(ratios.size(), 12) - 2] * std::sqrt(squares / (count - 1) / count);
  return {std::exp(sum / count), std::exp(sum / count - reach), std::exp(sum / count + reach)};
}

inline void print_gain(const char* name, const Gain& gain) {
  double load = 0;
  if (getloadavg(&load, 1) != 1) load = 0;
  if (gain.low > 1)
    std::printf("→ %s: %.2f times as fast (%.2f–%.2f)\n\n", name, gain.mean, gain.low, gain.high);
  else
    std::printf("→ %s: %s here, %.2f times as fast (%.2f–%.2f); load %.1f on %u cores\n\n", name,
                gain.clear() ? "slower" : "no clear difference", gain.mean, gain.low, gain.high,
                load, std::thread::hardware_concurrency());
}

// Runs each form once (steps are compiled then), then both in turns, and prints what they took:
// `pairs` of them, and up to `more` while the difference is not clear.
inline void compare(const Form& before, const Form& after, int pairs = 4, int more = 4) {
  before.run(), after.run();
  std::vector<double> first, second, ratios;
  for (int pair = 0; pair < pairs || (pair < pairs + more && !gain_of(ratios).clear()); ++pair) {
    double early = seconds_of(pair % 2 == 0 ? before.run : after.run);
    double late = seconds_of(pair % 2 == 0 ? after.run : before.run);
    first.push_back(pair % 2 == 0 ? early : late);
    second.push_back(pair % 2 == 0 ? late : early);
    ratios.push_back(first.back() / second.back());
  }
  print_milliseconds(before.name, first);
  print_milliseconds(after.name, second);
  print_gain(after.name, gain_of(ratios));
}

// The chain exactly as it is written, as other libraries run it: every stage on its own, nothing
// prefetched that was not asked for. The seed makes both forms draw the same random numbers.
inline stoker::data::Dataset as_written(const stoker::data::Dataset& chain) {
  return chain.with_options({.seed = 7, .as_written = true});
}
inline stoker::data::Dataset as_stoker_runs_it(const stoker::data::Dataset& chain) {
  return chain.with_options({.seed = 7});
}

// Megabytes that the latest walk over a dataset held at most.
inline double peak_megabytes(const stoker::data::Dataset& dataset) {
  std::string json = dataset.explain_json(), field = "\"memory_peak_bytes\":";
  size_t at = json.find(field);
  return at == std::string::npos ? 0 : 1e-6 * std::atof(json.c_str() + at + field.size());
}

// How long a fit takes until its first step, from restart() on.
struct FirstStep : stoker::Callback {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  bool waiting = true;
  std::vector<double> seconds = {};
  void restart() { begin = Clock::now(), waiting = true; }
  void on_train_batch_begin(int64_t) override {
    if (std::exchange(waiting, false))
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
};

// Bytes of this process in memory now.
inline double resident_bytes() {
  long pages = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return double(resident) * 4096;
}

// Whether the model trains on a GPU.
inline bool on_gpu(const stoker::Model& model) {
  return model.run_plan().backend.starts_with("cuda");
}

// What must hold on every machine; the program fails where it does not.
inline void require(bool holds, const char* what) {
  std::printf("%s: %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}
