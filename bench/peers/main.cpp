// Stoker's side of `make peers`: the worker programs that the driver (peers.py) starts.
//   bench_peers step | pipeline | start | fit JOB | matmul | version
//   bench_peers profile MODEL/BATCH     where the time of a step goes, for whoever wants to make it
//   faster
// Alone, as `make bench` starts it, it has nothing to measure and writes an empty list of rows.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include <stoker/stoker.h>

#include "common/training_step.h"
#include "fit.h"
#include "pipeline.h"
#include "step.h"

namespace {

int threads() {
  const char* text = std::getenv("STOKER_PEERS_THREADS");
  return text ? std::atoi(text) : 0;
}

int run(const std::string& command, const std::string& argument) {
  if (threads() > 0) stoker::set_threads({.compute = threads()});
  if (command == "step") {
    stoker::peers::serve_steps();
  } else if (command == "pipeline") {
    stoker::peers::serve_pipelines();
  } else if (command == "start") {
    stoker::peers::start();
  } else if (command == "fit") {
    stoker::peers::fit(argument);
  } else if (command == "profile") {
    stoker::peers::profile(argument);
  } else if (command == "matmul") {
    std::cout << nlohmann::json{{"gflop_s", stoker::bench::MatmulPeak(threads()).measure(20) / 1e9}}
              << std::endl;
  } else if (command == "version") {
    std::cout << nlohmann::json{{"version", stoker::version()},
                                {"workers", {"step", "pipeline", "start", "fit"}},
                                {"fits", {"digits", "scenes"}}}
              << std::endl;
  } else if (command == "--json") {
    std::cout << "the worker of `make peers`: nothing to measure alone\n";
    std::ofstream(argument) << "[]\n";
  } else {
    std::cerr << "bench_peers step | pipeline | start | fit JOB | matmul | version\n";
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "--json", argc > 2 ? argv[2] : "/dev/null");
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
