// bench_pipeline: what the input pipeline costs and reaches, beside what the machine allows.
//   bench_pipeline [--photos FOLDER] [--json FILE] [--only TEXT] [--long]
#include <iostream>

#include "common/options.h"
#include "pipeline/rows.h"

namespace {

int run(int argc, char** argv) {
  using namespace stoker::bench;
  std::string photos;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    if (std::string(argv[i]) == "--photos" && i + 1 < argc)
      photos = argv[++i];
    else
      rest.push_back(argv[i]);
  }
  Options options = parse(int(rest.size()), rest.data());
  Wanted wanted{options.only, options.longer ? 3.0 : 1.0};
  Report report;
  measure_overheads(wanted, report);
  measure_images(photos, wanted, report);
  measure_first_batch(wanted, report);
  measure_tuning(wanted, report);
  report.print(std::cout);
  if (!options.json.empty()) report.write_json(options.json);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench_pipeline: " << error.what() << "\n";
    return 1;
  }
}
