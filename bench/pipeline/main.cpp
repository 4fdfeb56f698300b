// bench_pipeline: what the input pipeline costs and reaches, beside what the machine allows.
//   bench_pipeline [--photos FOLDER] [common options]
#include "common/options.h"
#include "pipeline/rows.h"

namespace stoker::bench {
namespace {

struct Arguments : Options {
  std::string photos;
  std::vector<Flag> flags() { return with(Options::flags(), {{"--photos", &photos}}); }
};

int run(const Arguments& arguments) {
  Wanted wanted{arguments.only, arguments.longer ? 3.0 : 1.0};
  Report report;
  measure_overheads(wanted, report);
  measure_images(arguments.photos, wanted, report);
  measure_first_batch(wanted, report);
  measure_tuning(wanted, report);
  finish(report, arguments);
  return 0;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_pipeline", argc, argv, stoker::bench::run);
}
