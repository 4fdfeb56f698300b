// Everything that can change a bit of what a training run computes. Two runs of the same program on
// the same data with equal plans end with the same weights to the last bit. What only changes speed
// is not in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

struct RunPlan {
  uint64_t seed = 0;
  int64_t batch_size = 0;        // of the last fit; 0: none yet, or the batches decide
  int compute_threads = 0;       // sums are split among them
  std::string backend = "";      // "cpu"
  std::string fingerprint = "";  // library versions and instruction set of the backend
  bool deterministic = true;
  std::string precision = "float32";
  std::string library_version = "";  // Stoker's

  friend bool operator==(const RunPlan&, const RunPlan&) = default;
};

std::string to_string(const RunPlan& plan);  // one line per entry
std::string to_json(const RunPlan& plan);
RunPlan run_plan_from_json(std::string_view text);  // ValueError says what is wrong with it
// One line for every entry that differs: "compute_threads: 2 here, 4 there".
std::vector<std::string> differences(const RunPlan& here, const RunPlan& there);

}  // namespace stoker
