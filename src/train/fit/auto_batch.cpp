// batch = auto: the rule.
#include "train/fit/auto_batch.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stoker {

namespace {

constexpr int64_t kSmallest = 8;
constexpr int64_t kLargest = 8192;
constexpr int64_t kStepsPerEpoch = 16;
constexpr int64_t kUsual = 32;  // Keras's, which learning rates are chosen for
constexpr double kWorthwhile = 1.05;
// Doublings in a row that do not pay. One alone may be a kernel that libraries choose badly.
constexpr int kMisses = 2;

int64_t power_of_two_up_to(int64_t number) {
  return int64_t(std::bit_floor(uint64_t(std::max<int64_t>(number, 1))));
}

std::string compared(int64_t batch, double gain) {
  if (gain < 0.995) return fmt::format("{} is {:.0f} % slower", batch, 100 * (1 - gain));
  return fmt::format("{} is only {:.0f} % faster", batch, std::max(0.0, 100 * (gain - 1)));
}

}  // namespace

BatchBounds batch_bounds(const AutoBatchArgs& args) {
  if (args.samples < 0 || args.largest < 0 || args.memory < 0)
    throw ValueError(
        fmt::format("auto_batch_size: samples is {}, largest {} and memory {}; expected 0 or more",
                    args.samples, args.largest, args.memory));
  int64_t most = args.largest > 0 ? args.largest : kLargest;
  std::string why = "the largest that is allowed";
  if (args.samples > 0) {
    int64_t for_epoch = std::min(std::max(args.samples / kStepsPerEpoch, kUsual), args.samples);
    if (for_epoch < most) {
      most = for_epoch;
      why = fmt::format("as large as {} samples per epoch allow", args.samples);
    }
  }
  most = power_of_two_up_to(most);
  return {.least = std::min(kSmallest, most), .most = most, .why_most = std::move(why)};
}

AutoBatch grow_batch(const BatchBounds& range, const Throughput& throughput) {
  AutoBatch chosen;
  double best = 0;  // of the chosen one
  int misses = 0;   // since then
  for (int64_t batch = range.least; batch <= range.most && misses < kMisses; batch *= 2) {
    std::optional<double> rate = throughput(batch);
    if (!rate) {
      if (misses == 0) chosen.why = fmt::format("{} does not fit into memory", batch);
      return chosen;
    }
    chosen.trials.push_back({batch, *rate});
    if (best > 0 && !(*rate >= kWorthwhile * best)) {
      if (misses++ == 0) chosen.why = compared(batch, *rate / best);
      continue;
    }
    chosen.batch = batch;
    best = *rate;
    misses = 0;
  }
  if (misses == 0) chosen.why = range.why_most;
  return chosen;
}

std::string learning_rate_rule(const std::string& optimizer, int64_t batch) {
  if (batch == kUsual || batch == 0) return "";
  bool linear = optimizer == "SGD";
  double ratio = double(batch) / double(kUsual), factor = linear ? ratio : std::sqrt(ratio);
  return fmt::format(
      "A learning rate that was chosen for batch {} becomes {:.3g} times as large ({} with the "
      "batch, the rule for {}); a larger one wants a warm-up.",
      kUsual, factor, linear ? "it grows linearly" : "it grows as the square root", optimizer);
}

std::string AutoBatch::text() const {
  std::vector<std::string> rates;
  rates.reserve(trials.size());
  for (const BatchTrial& trial : trials)
    rates.push_back(fmt::format("{}: {:.0f}", trial.batch, trial.samples_per_second));
  return fmt::format("batch {}, measured: {} (samples/s at {})\n{}{}", batch, why,
                     fmt::join(rates, ", "), learning_rate, learning_rate.empty() ? "" : "\n");
}

int64_t auto_batch_size(const Model& model, const AutoBatchArgs& args) {
  return measure_batch_size(model, args).batch;
}

}  // namespace stoker
