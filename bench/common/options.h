// The options of benchmarks: a table of flags each, and the ones that all take.
//
//   struct Arguments : Options {
//     std::string photos;
//     std::vector<Flag> flags() { return with(Options::flags(), {{"--photos", &photos}}); }
//   };
//   int run(const Arguments& arguments);
//   int main(int argc, char** argv) { return run_main("bench_image", argc, argv, run); }
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "common/report.h"

namespace stoker::bench {

// A word of the command line and what it sets; all but a bool take the next word as their value.
struct Flag {
  std::string name;
  std::variant<bool*, std::string*, int64_t*, double*> to;
};

struct Options {
  std::string json;  // where the rows go; empty: nowhere
  std::string only;  // rows whose name contains it
  bool longer = false;
  bool profile = false;  // instead of rows: where the time goes, for those benchmarks that can tell

  std::vector<Flag> flags();
  bool wants(const std::string& row) const { return row.find(only) != std::string::npos; }
};

std::vector<Flag> with(std::vector<Flag> flags, const std::vector<Flag>& more);

// ValueError for a word that is no flag, listing them, and for a value that is none.
void parse(int argc, char** argv, const std::vector<Flag>& flags);

// Prints the rows and writes them where the options say.
void finish(const Report& report, const Options& options);

// What `body` returns, or 2 and one line on the error stream.
int guarded_main(const char* name, const std::function<int()>& body);

// The main() of a benchmark.
template <class Arguments>
int run_main(const char* name, int argc, char** argv, int (*run)(const Arguments&)) {
  return guarded_main(name, [&] {
    Arguments arguments;
    parse(argc, argv, arguments.flags());
    return run(arguments);
  });
}

}  // namespace stoker::bench
