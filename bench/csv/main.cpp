// bench_csv: rows of CSV per second, beside pandas and tf.data in the same run.
//   bench_csv [--json FILE] [--only TEXT] [--long]
// numbers.csv has ten columns of floats and a label; mixed.csv has floats, whole numbers and texts, some
// of them in quotes.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <stoker/csv.h>

#include "common/peer_rows.h"

namespace stoker::bench {
namespace {

constexpr int64_t kRows = 400'000;

void write_tables(const std::filesystem::path& folder) {
  Rng rng(1);
  std::ofstream numbers(folder / "numbers.csv"), mixed(folder / "mixed.csv");
  numbers << "a,b,c,d,e,f,g,h,i,j,label\n";
  mixed << "id,price,city,note,count,label\n";
  for (int64_t row = 0; row < kRows; ++row) {
    std::string line;
    for (int column = 0; column < 10; ++column) line += fmt::format("{:.6f},", rng.normal());
    int64_t label = rng.integer(0, 10);
    numbers << line << label << "\n";
    mixed << fmt::format("{},{:.2f},city{},\"a, {}\",{},{}\n", row, rng.uniform() * 1000,
                         rng.integer(0, 500), row, rng.integer(0, 100'000), label);
  }
}

void walk(const data::Dataset& rows, Samples& samples) {
  double begin = now();
  int64_t count = 0;
  for (const Batch& batch : rows) count += batch[0].shape()[0];
  samples.add(now() - begin);
  if (count != kRows) throw Error("the walk missed rows");
}

int run(const Options& options) {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("bench_csv." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  write_tables(folder);
  std::string numbers = (folder / "numbers.csv").string(), mixed = (folder / "mixed.csv").string();
  PeerRows rows(options, folder.string(), "csv/peers.py", "rows/s");

  // With the index, which a program makes once.
  rows.measure("open and batch, packed", {"pandas_numbers", "tfdata_numbers"}, 3, kRows,
               [&](Samples& samples) {
                 double begin = now();
                 Samples ignored;
                 walk(data::csv(numbers, {.label_name = "label", .pack = true}).batch(1024),
                      ignored);
                 samples.add(now() - begin);
               });
  rows.measure("open and batch, columns", {"pandas_mixed", "tfdata_mixed"}, 3, kRows,
               [&](Samples& samples) {
                 double begin = now();
                 Samples ignored;
                 walk(data::csv(mixed, {.label_name = "label"}).batch(1024), ignored);
                 samples.add(now() - begin);
               });
  data::Dataset packed = data::csv(numbers, {.label_name = "label", .pack = true});
  rows.measure("batch, packed", {"tfdata_numbers"}, 3, kRows,
               [&](Samples& samples) { walk(packed.batch(1024), samples); });
  rows.measure("shuffle and batch, packed", {}, {}, kRows,
               [&](Samples& samples) { walk(packed.shuffle().batch(1024), samples); });
  rows.measure("load_csv", {"pandas_numbers"}, 3, kRows, [&](Samples& samples) {
    double begin = now();
    data::load_csv(numbers);
    samples.add(now() - begin);
  });
  Report report;
  rows.finish(report);
  report.print(std::cout);
  if (!options.json.empty()) report.write_json(options.json);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_csv", argc, argv, stoker::bench::run);
}
