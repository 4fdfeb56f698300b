// What checkpoints cost a training: the time that a step waits for one, its bytes, the time the
// writer takes beside, and whole fits with and without, which take turns.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <stoker/stoker.h>

#include "common/options.h"
#include "common/report.h"
#include "common/timing.h"

namespace stoker::bench {
namespace {

struct Case {
  const char* name;
  Sequential model;
  Tensor x, y;
  int64_t batch;
};

Sequential compiled(Sequential model) {
  model.compile({.optimizer = Adam(), .loss = "sparse_categorical_crossentropy"});
  return model;
}

Case mlp(const char* name, int64_t width, int64_t samples) {
  return {name,
          compiled(Sequential({Input({256}), Dense(width, {.activation = "relu"}),
                               Dense(width, {.activation = "relu"}),
                               Dense(10, {.activation = "softmax"})})),
          Tensor::full({samples, 256}, 0.5), Tensor::zeros({samples}, DType::int32), 32};
}

Case cnn(int64_t samples) {
  return {"small CNN",
          compiled(Sequential({Input({28, 28, 1}), Conv2D(32, 3, {.activation = "relu"}),
                               MaxPooling2D(2), Conv2D(64, 3, {.activation = "relu"}),
                               MaxPooling2D(2), Flatten(), Dense(10, {.activation = "softmax"})})),
          Tensor::full({samples, 28, 28, 1}, 0.5), Tensor::zeros({samples}, DType::int32), 32};
}

void measure(const Case& each, const std::string& directory, Report& report) {
  Samples plain, saving, stalls, writes;
  uint64_t bytes = 0;
  double share = 0;
  for (int round = 0; round < 5; ++round) {
    FitArgs args{.epochs = 1, .batch_size = each.batch, .shuffle = false, .verbose = 0};
    double begin = now();
    each.model.fit(each.x, each.y, args);
    double middle = now();
    BackupAndRestore backup(directory + fmt::format("/{}-{}", each.name, round),
                            {.save_freq = 20, .keep = 1});
    args.callbacks = {backup};
    each.model.fit(each.x, each.y, args);
    double end = now();
    const BackupCosts& costs = backup.costs();
    plain.add(middle - begin);
    saving.add(end - middle);
    stalls.add(costs.stall_seconds / double(costs.saved));
    writes.add(costs.write_seconds / double(costs.saved));
    bytes = costs.bytes / uint64_t(costs.saved);
    share = double(costs.saved);
  }
  std::string what = fmt::format("{}: {:.1f} MB, {:.0f} checkpoints in a fit", each.name,
                                 double(bytes) * 1e-6, share);
  report.add({.name = what + ": a step waits",
              .value = stalls.median() * 1e3,
              .unit = "ms",
              .better = Better::lower,
              .note = stalls.text()});
  report.add({.name = fmt::format("{}: the writer, beside it", each.name),
              .value = writes.median() * 1e3,
              .unit = "ms",
              .better = Better::lower,
              .note = writes.text()});
  report.add({.name = fmt::format("{}: fit with / without", each.name),
              .value = paired_ratio(saving, plain, 1),
              .unit = "×",
              .better = Better::lower,
              .note = fmt::format("{} / {}", saving.text(), plain.text())});
}

int run(const Options& options) {
  default_context().out = nullptr;
  default_context().device = "cpu";
  std::string directory =
      (std::filesystem::temp_directory_path() / fmt::format("bench-checkpoint-{}", getpid()))
          .string();
  Report report;
  measure(cnn(6400), directory, report);
  measure(mlp("MLP of 1.3 M", 1024, 6400), directory, report);
  measure(mlp("MLP of 10 M", 3000, 3200), directory, report);
  std::filesystem::remove_all(directory);
  finish(report, options);
  return 0;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_checkpoint", argc, argv, stoker::bench::run);
}
