#include "observe/tuning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "observe/words.h"

namespace stoker {

namespace {

constexpr double kWorthIt = 0.03;

// Two-sided 95 %, by degrees of freedom from 1.
constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         double(std::max<size_t>(values.size(), 1));
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

GainInterval interval_of(const std::vector<double>& gains) {
  double mean = mean_of(gains);
  if (gains.size() < 2) return {mean, -1, 1};
  double squares = 0;
  for (double gain : gains) squares += (gain - mean) * (gain - mean);
  auto freedom = gains.size() - 1;
  double error = std::sqrt(squares / double(freedom) / double(gains.size()));
  double reach = kStudent[std::min(freedom, kStudent.size()) - 1] * error;
  return {mean, mean - reach, mean + reach};
}

bool AlternatingTrial::step_ended(int64_t ns) {
  if (decision_ != Decision::undecided) return false;
  if (++in_block_ <= options_.settle) return false;
  steps_.push_back(double(ns) * 1e-9);
  if (int64_t(steps_.size()) < options_.block) return false;
  end_block();
  return true;
}

void AlternatingTrial::end_block() {
  (changed_ ? with_ : without_).push_back(mean_of(steps_));
  steps_.clear();
  in_block_ = 0;
  changed_ = !changed_;
  int pairs = int(std::min(with_.size(), without_.size()));
  if (changed_ || pairs < options_.least_pairs) return;  // decided behind a whole pair
  GainInterval now = gain();
  if (now.mean >= kWorthIt && now.low > 0)
    decision_ = Decision::keep;
  else if (now.high < kWorthIt || pairs >= options_.most_pairs)
    decision_ = Decision::revert;
  if (decision_ == Decision::keep) changed_ = true;
}

double AlternatingTrial::before_seconds() const { return median_of(without_); }
double AlternatingTrial::after_seconds() const { return median_of(with_); }

GainInterval AlternatingTrial::gain() const {
  std::vector<double> gains;
  for (size_t i = 0; i < std::min(with_.size(), without_.size()); ++i)
    gains.push_back(1 - with_[i] / without_[i]);
  return interval_of(gains);
}

std::vector<Remedy> remedies_for(const PipelineStatistics& pipeline) {
  std::vector<Remedy> remedies;
  bool tuned = pipeline.tunes_workers && pipeline.tunes_depth && !pipeline.as_written;
  if (!tuned) {
    std::string why = pipeline.as_written ? "the pipeline runs as it is written"
                                          : "it says itself how many workers and batches ahead";
    remedies.push_back({{.repaired = true},
                        "Stages fused, workers and batches ahead chosen by measuring",
                        std::move(why)});
  }
  if (pipeline.cache.bytes > 0)
    remedies.push_back(
        {{.repaired = !tuned, .cache = true},
         fmt::format("Elements kept in memory behind {}", pipeline.cache.after),
         fmt::format("{:.0f} MB save {} an element from the second epoch on",
                     pipeline.cache.bytes * 1e-6, duration(pipeline.cache.saved_ns * 1e-9))});
  return remedies;
}

}  // namespace stoker
