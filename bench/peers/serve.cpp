#include "serve.h"

#include <sys/resource.h>

#include <iostream>
#include <string>

namespace stoker::peers {
namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

}  // namespace

void serve(const std::function<nlohmann::json(const nlohmann::json&)>& answer) {
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json reply;
    try {
      reply = answer(nlohmann::json::parse(line));
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    std::cout << reply.dump() << std::endl;
  }
}

Stopwatch::Stopwatch() : cpu_(cpu_seconds()), begin_(std::chrono::steady_clock::now()) {}

nlohmann::json Stopwatch::read(int n) const {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  return {{"seconds", seconds.count()}, {"cpu", cpu_seconds() - cpu_}, {"n", n}};
}

}  // namespace stoker::peers
