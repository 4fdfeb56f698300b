// bench_fit: what fit adds to the steps. A small CNN is trained on the same batches by a bare
// loop of train_on_batch, by fit alone (which measures where the time goes), and by fit with a
// progress bar on a terminal, a CSV file and TensorBoard; the three take turns.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>

#include <fmt/format.h>
#include <stoker/stoker.h>

#include "common/options.h"
#include "common/report.h"
#include "common/timing.h"

namespace stoker::bench {

namespace {

// Standard output as a terminal of 120 columns that somebody reads, for as long as it lives.
class WatchedTerminal {
 public:
  WatchedTerminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)), before_(dup(STDOUT_FILENO)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0)
      throw Error("no pseudo-terminal can be had");
    int slave = open(ptsname(master_), O_RDWR | O_NOCTTY);  // NOLINT: one thread
    winsize size{.ws_row = 40, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
    if (slave < 0 || ioctl(slave, TIOCSWINSZ, &size) != 0) throw Error("no pseudo-terminal");
    std::fflush(stdout);
    dup2(slave, STDOUT_FILENO);
    close(slave);
    setenv("TERM", "xterm", 1);  // NOLINT: one thread
    reader_ = std::thread([this] { drain(); });
  }
  ~WatchedTerminal() {
    std::cout.flush();
    dup2(before_, STDOUT_FILENO);  // closes the last slave: the reader meets its end
    close(before_);
    reader_.join();
    close(master_);
  }
  WatchedTerminal(const WatchedTerminal&) = delete;
  WatchedTerminal& operator=(const WatchedTerminal&) = delete;

 private:
  void drain() const {
    std::array<char, 4096> buffer{};
    while (read(master_, buffer.data(), buffer.size()) > 0) {
    }
  }
  int master_, before_;
  std::thread reader_;
};

struct Folder {
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bench-fit-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Error("no temporary folder");
    path = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

Sequential cnn() {
  Sequential model({Input({28, 28, 1}), Conv2D(32, 3, {.activation = "relu"}), MaxPooling2D(2),
                    Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(2), Flatten(),
                    Dense(10, {.activation = "softmax"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

std::vector<Batch> random_batches(int64_t count, int64_t size) {
  std::vector<Batch> batches;
  batches.reserve(size_t(count));
  for (int64_t index = 0; index < count; ++index) {
    Rng rng(uint64_t(index) + 1);
    Tensor x(DType::float32, {size, 28, 28, 1}), y(DType::int32, {size});
    for (float& value : std::span(x.data_mut<float>(), size_t(x.elements()))) value = rng.normal();
    for (int32_t& label : std::span(y.data_mut<int32_t>(), size_t(size)))
      label = int32_t(rng.integer(0, 10));
    batches.push_back(Batch{x, y});
  }
  return batches;
}

void add_row(Report& report, const std::string& name, const Samples& own, const Samples& bare,
             int block, double bar, size_t steps) {
  report.add({.name = name,
              .value = 100 * (paired_ratio(own, bare, block) - 1),
              .unit = "% slower",
              .better = Better::lower,
              .bar = bar,
              .peers = {{"bare loop", bare.median() / double(steps) * 1e3, "ms/step"}},
              .note = fmt::format("{:.3f} ms/step; {} steps a fit, {} fits each",
                                  own.median() / double(steps) * 1e3, steps, own.count())});
}

int run(const Options& options) {
  constexpr int kBlock = 3;
  set_seed(1);
  std::vector<Batch> batches = random_batches(60, 32);
  Sequential loop = cnn(), plain = cnn(), shown = cnn();
  Folder folder;
  auto bare = [&] {
    loop.reset_metrics();
    Logs logs;
    for (const Batch& batch : batches) logs = loop.train_on_batch(batch);
    if (!(logs["loss"] > 0)) throw Error("the loss is not a number");
  };
  auto all = [&] {
    shown.fit(batches, {.callbacks = {CSVLogger((folder.path / "log.csv").string()),
                                      TensorBoard({.log_dir = (folder.path / "tb").string()})}});
  };
  std::vector<Samples> samples;
  {
    WatchedTerminal terminal;
    samples = take_turns({{"bare loop", bare},
                          {"fit", [&] { plain.fit(batches, {.verbose = 0}); }},
                          {"fit with all", all}},
                         {.warm_up = 1, .block = kBlock, .seconds = options.longer ? 160.0 : 40.0});
  }
  Report report;
  add_row(report, "fit with progress bar, CSV and TensorBoard against a bare loop", samples[2],
          samples[0], kBlock, 2, batches.size());
  add_row(report, "fit alone, with statistics and tier-0 measurement, against a bare loop",
          samples[1], samples[0], kBlock, 1, batches.size());
  finish(report, options);
  return 0;
}

}  // namespace

}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_fit", argc, argv, stoker::bench::run);
}
