#include "compress/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker::compress {

namespace {

constexpr double kCodes = 256;
constexpr double kSmallestScale = 1e-30;  // its square is still a normal number in double

}  // namespace

CodeParams params_for(Range range) {
  double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  double scale = (high - low) / (kCodes - 1);
  if (!(scale > 0)) return {1 / (kCodes - 1), 0};
  // As the file and every engine have it.
  scale = double(float(std::max(scale, kSmallestScale)));
  auto zero_point = int64_t(std::nearbyint(-low / scale));
  return {scale, std::clamp<int64_t>(zero_point, 0, int64_t(kCodes) - 1)};
}

void ValueCounts::widen(double largest) {
  constexpr int64_t kHalf = kBins / 2;
  if (width_ == 0) {
    width_ = std::max(largest / double(kHalf - 1), std::numeric_limits<float>::min() * 1.0);
    return;
  }
  while (largest >= width_ * double(kHalf - 1)) {
    std::vector<double> wider(size_t(kBins), 0.0);
    for (int64_t bin = 0; bin < kBins; ++bin) {
      int64_t from_zero = bin - kHalf;
      int64_t to = (from_zero >= 0 ? from_zero / 2 : (from_zero - 1) / 2) + kHalf;
      wider[size_t(to)] += counts_[size_t(bin)];
    }
    counts_ = std::move(wider);
    width_ *= 2;
  }
}

void ValueCounts::add(std::span<const float> values, const std::string& layer) {
  float low = 0, high = 0;
  for (float value : values) {
    if (!std::isfinite(value))
      throw ValueError(fmt::format(
          "quantize: the output of \"{}\" is {} on the calibration data; expected finite values: "
          "check the data and the weights",
          layer, value));
    low = std::min(low, value);
    high = std::max(high, value);
  }
  low_ = std::min(low_, double(low));
  high_ = std::max(high_, double(high));
  count_ += double(values.size());
  double largest = std::max(-double(low), double(high));
  if (largest == 0) return;  // zeros are in every range
  widen(largest);
  for (float value : values) {
    if (value == 0) continue;  // stored exactly by any range
    auto bin = int64_t(std::floor(double(value) / width_)) + kBins / 2;
    counts_[size_t(std::clamp<int64_t>(bin, 0, kBins - 1))] += 1;
  }
}

Range ValueCounts::range(Calibration how, double percentile) const {
  if (how == Calibration::min_max || width_ == 0) return {low_, high_};
  return how == Calibration::percentile ? percentile_range(percentile) : entropy_range();
}

// The outermost values of each end are left out, where the end is not 0 anyway.
Range ValueCounts::percentile_range(double percentile) const {
  double outside = count_ * (1 - percentile / 100), below = 0, above = 0;
  int64_t first = 0, last = kBins - 1;
  while (first < last && below + counts_[size_t(first)] <= outside)
    below += counts_[size_t(first++)];
  while (last > first && above + counts_[size_t(last)] <= outside) above += counts_[size_t(last--)];
  return {std::max(low_, std::min(edge(first), 0.0)),
          std::min(high_, std::max(edge(last + 1), 0.0))};
}

namespace {

// The Kullback–Leibler divergence of the counts in [first, last], those outside moved to the ends,
// from the same in 255 steps.
double divergence(const std::vector<double>& counts, int64_t first, int64_t last) {
  int64_t bins = last - first + 1;
  std::vector<double> wanted(counts.begin() + first, counts.begin() + last + 1);
  std::vector<double> inside = wanted;
  double total = 0;
  for (int64_t i = 0; i < int64_t(counts.size()); ++i) {
    double count = counts[size_t(i)];
    total += count;
    if (i < first) wanted.front() += count;
    if (i > last) wanted.back() += count;
  }
  constexpr int64_t kSteps = 255;
  double sum = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    int64_t begin = step * bins / kSteps, end = (step + 1) * bins / kSteps;
    double mass = 0, filled = 0;
    for (int64_t i = begin; i < end; ++i) {
      mass += inside[size_t(i)];
      filled += inside[size_t(i)] > 0 ? 1 : 0;
    }
    for (int64_t i = begin; i < end; ++i) {
      double p = wanted[size_t(i)] / total;
      if (p <= 0) continue;
      // Mass that the steps do not have counts as one value of all.
      double q = inside[size_t(i)] > 0 ? mass / filled / total : 1 / (total * double(bins));
      sum += p * std::log(p / q);
    }
  }
  return sum;
}

}  // namespace

Range ValueCounts::entropy_range() const {
  constexpr int64_t kHalf = kBins / 2, kTrials = 64;
  int64_t lowest = kHalf, highest = kHalf;
  for (int64_t bin = 0; bin < kBins; ++bin)
    if (counts_[size_t(bin)] > 0) {
      lowest = std::min(lowest, bin);
      highest = std::max(highest, bin);
    }
  double least = std::numeric_limits<double>::infinity();
  Range best{low_, high_};
  for (int64_t trial = 1; trial <= kTrials; ++trial) {
    int64_t reach = (std::max(kHalf - lowest, highest - kHalf + 1) * trial + kTrials - 1) / kTrials;
    int64_t first = std::max(lowest, kHalf - reach), last = std::min(highest, kHalf + reach - 1);
    if (last - first + 1 < int64_t(kCodes) && trial < kTrials) continue;
    double apart = divergence(counts_, first, last);
    // Of equals the widest.
    if (apart <= least) {
      least = apart;
      best = {std::max(low_, std::min(edge(first), 0.0)),
              std::min(high_, std::max(edge(last + 1), 0.0))};
    }
  }
  return best;
}

}  // namespace stoker::compress
