#include "common/options.h"

#include <cstdio>
#include <string_view>

#include <stoker/error.h>

namespace stoker::bench {

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--long")
      options.longer = true;
    else if (word == "--profile")
      options.profile = true;
    else if (word == "--json" && i + 1 < argc)
      options.json = argv[++i];
    else if (word == "--only" && i + 1 < argc)
      options.only = argv[++i];
    else
      throw ValueError("unexpected \"" + std::string(word) +
                       "\"; usage: [--json FILE] [--only TEXT] [--long] [--profile]");
  }
  return options;
}

int run_main(const char* name, int argc, char** argv, int (*run)(const Options&)) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  }
}

}  // namespace stoker::bench
