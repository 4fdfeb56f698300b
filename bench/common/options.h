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

}  // namespace stoker::bench
