// Rows of a benchmark beside peers that a Python script measures, before and after Stoker's turn. The
// script is called with a folder and prints "NAME RATE" lines; it runs in the environment that
// scripts/peers-setup.sh makes. Without it the rows stand alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/options.h"
#include "common/report.h"
#include "common/timing.h"

namespace stoker::bench {

class PeerRows {
 public:
  // `script`: below bench/; `unit`: of all rates, "lines/s".
  PeerRows(const Options& options, std::string folder, std::string script, std::string unit);

  // `step(samples)` takes the time of `count` units; `peers` name the script's lines to compare with.
  // `bar`: what the ratio has to be.
  template <class Step>
  void measure(const std::string& name, const std::vector<std::string>& peers,
               std::optional<double> bar, int64_t count, Step&& step) {
    if (name.find(options_.only) == std::string::npos) return;
    Samples samples;
    for (int round = 0; round < (options_.longer ? 7 : 3); ++round) step(samples);
    Row row{.name = name,
            .value = double(count) / samples.median(),
            .unit = unit_,
            .note = samples.text()};
    rows_.push_back({std::move(row), peers, bar});
  }
  // The better of the peers' two turns counts.
  void finish(Report& report);

 private:
  struct Measured {
    Row row;
    std::vector<std::string> peers;
    std::optional<double> bar;
  };
  std::map<std::string, double> ask() const;

  const Options& options_;
  std::string folder_, script_, unit_;
  std::map<std::string, double> peers_;
  std::vector<Measured> rows_;
};

}  // namespace stoker::bench
