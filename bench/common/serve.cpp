#include "common/serve.h"

#include <iostream>
#include <string>

#include <fmt/format.h>

#include "common/timing.h"

namespace stoker::bench {

int serve_steps(const std::function<void(int64_t)>& steps, double floor) {
  std::cout << fmt::format("{{\"ready\": true, \"floor\": {}}}", floor) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    double begin = now();
    steps(std::stoll(line));
    std::cout << fmt::format("{{\"seconds\": {}}}", now() - begin) << std::endl;
  }
  return 0;
}

}  // namespace stoker::bench
