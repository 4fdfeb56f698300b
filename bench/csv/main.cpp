// bench_csv: rows of CSV per second, in turn with pandas and tf.data.
//   bench_csv [--json FILE] [--only TEXT] [--long]
// Every form of reading against read_csv of pandas (its C engine, with the dtypes that it infers and with
// those that Stoker gives) and, where it is installed, make_csv_dataset. CPU time is compared as well: it
// says what a busy machine hides.
#include <sys/resource.h>
#include <unistd.h>

#include <deque>
#include <filesystem>

#include <stoker/csv.h>

#include "common/options.h"
#include "common/peer_process.h"
#include "common/report.h"
#include "common/timing.h"
#include "csv/tables.h"

namespace stoker::bench {
namespace {

constexpr double kBar = 3;

// Of all threads.
double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int64_t walk(const data::Dataset& rows) {
  int64_t count = 0;
  for (const Batch& batch : rows) count += batch[0].shape()[0];
  return count;
}

class CsvBench {
 public:
  CsvBench(const Options& options, const std::filesystem::path& folder)
      : options_(options),
        folder_(folder),
        tables_(write_tables(folder)),
        peer_(folder.string(), "csv/peers.py") {}

  Report run() {
    for (const Table& table : tables_) {
      std::string path = (folder_ / (table.name + ".csv")).string();
      // With the index, which a program makes once.
      if (table.numeric)
        measure("open and batch, packed", table, [path] {
          return walk(data::csv(path, {.label_name = "label", .pack = true}).batch(1024));
        });
      measure("open and batch, columns", table,
              [path] { return walk(data::csv(path, {.label_name = "label"}).batch(1024)); });
      measure("load_csv", table, [path] { return data::load_csv(path).at("label").shape()[0]; });
    }
    std::string numbers = (folder_ / "numbers.csv").string();
    data::Dataset packed = data::csv(numbers, {.label_name = "label", .pack = true});
    alone("batch, packed", tables_[0], [packed] { return walk(packed.batch(1024)); });
    alone("shuffle and batch, packed", tables_[0],
          [packed] { return walk(packed.shuffle().batch(1024)); });
    return std::move(report_);
  }

 private:
  using Read = std::function<int64_t()>;

  static void read_all(const Table& table, const Read& read) {
    if (read() != table.rows) throw Error(table.name + ": rows are missing");
  }
  Turns turns() const {
    return {.warm_up = 1, .block = 1, .seconds = 0, .least_rounds = options_.longer ? 15 : 7};
  }
  static double rate(const Table& table, const Samples& samples) {
    return double(table.rows) / samples.median();
  }

  void measure(const std::string& form, const Table& table, const Read& read) {
    std::string name = form + ", " + table.name;
    if (!options_.wants(name)) return;
    std::deque<Samples> cpu(1);
    std::vector<Contender> contenders{{name, [&] {
                                         double before = cpu_seconds();
                                         read_all(table, read);
                                         cpu[0].add(cpu_seconds() - before);
                                       }}};
    for (std::string peer : {"pandas", "pandas_typed", "pandas_arrow", "tfdata"}) {
      std::string request = peer + " " + table.name;
      if (!peer_.can(request)) continue;
      Samples& used = cpu.emplace_back();
      contenders.push_back({peer, [this, request, &used] { used.add(peer_.run(request)); }});
    }
    std::vector<Samples> samples = take_turns(contenders, turns());
    Row row{.name = name,
            .value = rate(table, samples[0]),
            .unit = "rows/s",
            .note = samples[0].text()};
    for (size_t i = 1; i < contenders.size(); ++i)
      row.peers.push_back({contenders[i].name, rate(table, samples[i]), "rows/s"});
    report_.add(row);
    for (size_t i = 1; i < contenders.size(); ++i) {
      bool counts = contenders[i].name != "pandas_arrow";
      report_.add({.name = name + " / " + contenders[i].name,
                   .value = paired_ratio(samples[i], samples[0], 1),
                   .unit = "x",
                   .bar = counts ? std::optional(kBar) : std::nullopt,
                   .note = samples[i].text()});
      report_.add({.name = name + " / " + contenders[i].name + ", CPU time",
                   .value = cpu[i].median() / cpu[0].median(),
                   .unit = "x",
                   .note = cpu[0].text() + " and " + cpu[i].text()});
    }
  }
  void alone(const std::string& form, const Table& table, const Read& read) {
    std::string name = form + ", " + table.name;
    if (!options_.wants(name)) return;
    Samples samples = take_turns({{name, [&] { read_all(table, read); }}}, turns())[0];
    report_.add(
        {.name = name, .value = rate(table, samples), .unit = "rows/s", .note = samples.text()});
  }

  const Options& options_;
  std::filesystem::path folder_;
  std::vector<Table> tables_;
  PeerProcess peer_;
  Report report_;
};

int run(const Options& options) {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("bench_csv." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  Report report = CsvBench(options, folder).run();
  finish(report, options);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_csv", argc, argv, stoker::bench::run);
}
