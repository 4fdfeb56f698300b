// What the live workers share: requests as JSON lines on stdin, one answer a line on stdout.
#pragma once

#include <chrono>
#include <functional>

#include <nlohmann/json.hpp>

namespace stoker::peers {

// Until stdin ends; an exception of `answer` becomes {"error": …}.
void serve(const std::function<nlohmann::json(const nlohmann::json&)>& answer);

// Wall and CPU seconds of n units of work.
class Stopwatch {
 public:
  Stopwatch();
  nlohmann::json read(int n) const;

 private:
  double cpu_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace stoker::peers
