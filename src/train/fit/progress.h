// How progress looks: lines of text, made of what is known. Drawing them is the callback's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"

namespace stoker {

struct Progress {
  std::string title;  // "Epoch 3/20"
  int64_t step = 0;   // done
  std::optional<int64_t> total = {};
  double seconds = 0;                     // since the first step began
  double seconds_per_step = 0;            // 0: not known yet
  double samples_per_second = 0;          // 0: not known
  std::vector<std::string> numbers = {};  // "loss 0.1432", most important first
  std::string status = {};                // "limit: input"
};

std::string clock_time(double seconds);                          // "6 s", "1:02", "3:04:05"
std::string progress_bar(double share, int width, bool colour);  // ━━━━━━━━━╸────────

// Epoch 3/20  ━━━━━━━━━╸────────  412/1875  ETA 6 s  4.1 ms/step  7,790 samples/s  loss 0.1432
// As wide as the terminal at most: what matters least is left out.
std::string live_line(const Progress& progress, const Terminal& terminal);

// Epoch 3/20  1875 steps  7.7 s  4.1 ms/step  7,790 samples/s  loss 0.1432  accuracy 0.9561
// With a status it stands at the end: "limit: input (the device waited 71 %)".
std::string final_line(const Progress& progress);

}  // namespace stoker
