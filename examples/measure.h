// Measuring, for the programs in the folders beside this file. Two forms of the same work run in
// turns, so that whatever else the machine does slows both alike; medians and ratios are printed,
// and a difference is claimed only where four of five pairs show it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
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

// The sentence below two such lines; ratios[i]: how many times as fast the second form of pair i
// is.
inline void print_gain(const char* name, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  auto pairs = ratios.size();
  auto faster = size_t(std::count_if(ratios.begin(), ratios.end(), [](double r) { return r > 1; }));
  if (5 * faster >= 4 * pairs)
    std::printf("→ %s: %.2f times as fast, in %zu of %zu pairs\n\n", name, median(ratios), faster,
                pairs);
  else if (5 * faster <= pairs)
    std::printf("→ %s: slower on this machine, %.2f times the time, in %zu of %zu pairs\n\n", name,
                1 / median(ratios), pairs - faster, pairs);
  else
    std::printf("→ no clear difference on this machine: %.2f–%.2f times as fast in %zu pairs\n\n",
                ratios.front(), ratios.back(), pairs);
}

// Runs each form once (steps are compiled then), then both in turns, and prints what they took.
inline void compare(const Form& before, const Form& after, int pairs = 5) {
  before.run(), after.run();
  std::vector<double> first, second, ratios;
  for (int pair = 0; pair < pairs; ++pair) {
    double early = seconds_of(pair % 2 == 0 ? before.run : after.run);
    double late = seconds_of(pair % 2 == 0 ? after.run : before.run);
    first.push_back(pair % 2 == 0 ? early : late);
    second.push_back(pair % 2 == 0 ? late : early);
    ratios.push_back(first.back() / second.back());
  }
  print_milliseconds(before.name, first);
  print_milliseconds(after.name, second);
  print_gain(after.name, ratios);
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
