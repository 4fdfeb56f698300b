// What the pipeline itself costs: functions that do nothing, batches that are only copied.
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <stoker/dataset.h>

#include "common/timing.h"
#include "data/runtime/permutation.h"
#include "pipeline/rows.h"

namespace stoker::bench {

using namespace data;

namespace {

int64_t walk(const Dataset& dataset) {
  int64_t batches = 0;
  Iterator iterator = dataset.iterate();
  while (iterator.next() != nullptr) ++batches;
  return batches;
}

Row cost_row(const std::string& name, const Dataset& dataset, int64_t elements, double bar,
             double scale) {
  std::vector<Samples> samples = take_turns({{name, [&] { walk(dataset); }}},
                                            {.warm_up = 1, .block = 1, .seconds = 3 * scale});
  return {.name = name,
          .value = samples[0].median() / double(elements) * 1e9,
          .unit = "ns/element",
          .better = Better::lower,
          .bar = bar,
          .note = fmt::format("{} elements in {}", elements, samples[0].text())};
}

void measure_maps(const Wanted& wanted, Report& report) {
  constexpr int64_t kElements = 2'000'000;
  auto add_one = [](int64_t x) { return x + 1; };
  if (wanted("sync map, trivial function"))
    report.add(cost_row("sync map, trivial function",
                        range(kElements).map(add_one, {.parallel = 1}).batch(1024).prefetch(0),
                        kElements, 50, wanted.scale));
  if (wanted("parallel map, trivial function"))
    report.add(cost_row("parallel map, trivial function",
                        range(kElements).map(add_one).batch(1024).prefetch(4), kElements, 500,
                        wanted.scale));
  if (wanted("parallel map, unordered"))
    report.add(
        cost_row("parallel map, unordered, trivial function",
                 range(kElements).map(add_one, {.deterministic = false}).batch(1024).prefetch(4),
                 kElements, 500, wanted.scale));
}

// The consumer comes when a batch lies ready: how long until it has it.
void measure_hand_off(const Wanted& wanted, Report& report) {
  if (!wanted("hand-off, batch ready")) return;
  Dataset dataset = range(32 * 4096).batch(32).prefetch(8);
  Iterator iterator = dataset.iterate({.epochs = 0});
  Samples samples;
  for (int i = 0; i < int(2000 * wanted.scale); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    double begin = now();
    const Batch* batch = iterator.next();
    double end = now();
    if (batch != nullptr && i > 50) samples.add(end - begin);
  }
  report.add({.name = "hand-off, batch ready, median",
              .value = samples.median() * 1e6,
              .unit = "us",
              .better = Better::lower,
              .bar = 2});
  report.add({.name = "hand-off, batch ready, p99",
              .value = samples.quantile(0.99) * 1e6,
              .unit = "us",
              .better = Better::lower,
              .bar = 20});
}

void measure_memory_batches(const Wanted& wanted, Report& report) {
  std::string name = "batch of 128 x 28x28 float32 from memory, shuffled";
  if (!wanted(name)) return;
  constexpr int64_t kRows = 60'000, kBatch = 128, kRowBytes = 28 * 28 * 4;
  Tensor images = Tensor::zeros({kRows, 28, 28, 1});
  Dataset dataset =
      from_slices(images).shuffle().batch(kBatch).prefetch(0).with_options({.seed = 1});
  std::vector<std::byte> target(size_t(kBatch * kRowBytes));
  auto copy = [&] {
    const auto* from = static_cast<const std::byte*>(images.raw());
    for (int64_t row = 0; row + kBatch <= kRows; row += kBatch)
      std::memcpy(target.data(), from + row * kRowBytes, size_t(kBatch * kRowBytes));
  };
  // The same rows in the same random order, with nothing else to do: what memory allows.
  Permutation order(kRows, 1);
  auto copy_rows = [&] {
    const auto* from = static_cast<const std::byte*>(images.raw());
    for (int64_t row = 0; row < kRows; ++row)
      std::memcpy(target.data() + row % kBatch * kRowBytes, from + order(row) * kRowBytes,
                  size_t(kRowBytes));
  };
  std::vector<Samples> samples =
      take_turns({{"stoker", [&] { walk(dataset); }}, {"memcpy", copy}, {"rows", copy_rows}},
                 {.warm_up = 1, .block = 1, .seconds = 4 * wanted.scale});
  double bytes = double(kRows * kRowBytes);
  report.add(
      {.name = name,
       .value = 100 * paired_ratio(samples[1], samples[0], 1),
       .unit = "% of memcpy",
       .bar = 70,
       .limit = 100 * paired_ratio(samples[1], samples[2], 1),
       .note = fmt::format("{:.1f} GB/s, memcpy {:.1f} GB/s, rows alone {:.1f} GB/s, one "
                           "thread each",
                           bytes / samples[0].median() * 1e-9, bytes / samples[1].median() * 1e-9,
                           bytes / samples[2].median() * 1e-9)});
}

}  // namespace

void measure_overheads(const Wanted& wanted, Report& report) {
  measure_maps(wanted, report);
  measure_hand_off(wanted, report);
  measure_memory_batches(wanted, report);
}

}  // namespace stoker::bench
