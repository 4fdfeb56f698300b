// What every benchmark takes: --json FILE, --long, --only TEXT, --profile.
#pragma once

#include <string>

namespace stoker::bench {

struct Options {
  std::string json;  // where the rows go; empty: nowhere
  std::string only;  // rows whose name contains it
  bool longer = false;
  bool profile = false;  // instead of rows: where the time goes, for those benchmarks that can tell
};

// Throws ValueError for anything else, with the usage.
Options parse(int argc, char** argv);

// The main() of a benchmark: what `run` returns, or 2 and one line on the error stream.
int run_main(const char* name, int argc, char** argv, int (*run)(const Options&));

}  // namespace stoker::bench
