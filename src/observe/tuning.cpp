#include "observe/tuning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "observe/thresholds.h"
#include "observe/words.h"

namespace stoker::doctor {

namespace {

// What is kept goes on for at least so long; its second half is the settled time.
constexpr int64_t kSettleSteps = 120, kSettleNs = 1'500'000'000;

// Two-sided 95 %, by degrees of freedom from 1.
constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         double(std::max<size_t>(values.size(), 1));
}

double geometric_mean(const std::vector<double>& values, size_t count) {
  double logs = 0;
  for (size_t i = 0; i < count; ++i) logs += std::log(values[i]);
  return count > 0 ? std::exp(logs / double(count)) : 0;
}

}  // namespace

GainInterval interval_of(const std::vector<double>& values) {
  double mean = mean_of(values);
  if (values.size() < 2) return {mean, mean - 1, mean + 1};
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  auto freedom = values.size() - 1;
  double error = std::sqrt(squares / double(freedom) / double(values.size()));
  double reach = kStudent[std::min(freedom, kStudent.size()) - 1] * error;
  return {mean, mean - reach, mean + reach};
}

bool AlternatingTrial::step_ended(int64_t ns) {
  if (decision_ != Decision::undecided) return false;
  if (++in_block_ <= options_.settle) return false;
  steps_.push_back(double(std::max<int64_t>(ns, 1)) * 1e-9);
  if (int64_t(steps_.size()) < options_.block) return false;
  end_block();
  return true;
}

void AlternatingTrial::end_block() {
  (changed_ ? with_ : without_).push_back(mean_of(steps_));
  steps_.clear();
  in_block_ = 0;
  changed_ = !changed_;
  if (changed_ || int(pairs()) < options_.least_pairs) return;  // decided behind a whole pair
  GainInterval now = gain();
  if (now.mean >= kWorthIt && now.low > 0)
    decision_ = Decision::keep;
  else if (now.high < kWorthIt || int(pairs()) >= options_.most_pairs)
    decision_ = Decision::revert;
  if (decision_ == Decision::keep) changed_ = true;
}

double AlternatingTrial::before_seconds() const { return geometric_mean(without_, pairs()); }
double AlternatingTrial::after_seconds() const { return geometric_mean(with_, pairs()); }

// Ratios are averaged as logarithms: twice as fast and half as fast cancel out.
GainInterval AlternatingTrial::gain() const {
  std::vector<double> ratios;
  for (size_t i = 0; i < pairs(); ++i) ratios.push_back(std::log(with_[i] / without_[i]));
  GainInterval ratio = interval_of(ratios);
  return {1 - std::exp(ratio.mean), 1 - std::exp(ratio.high), 1 - std::exp(ratio.low)};
}

std::vector<Remedy> remedies_for(const std::optional<PipelineStatistics>& pipeline,
                                 const std::optional<DeviceKnobs>& device, bool waits_for_input,
                                 int64_t batch_size) {
  std::vector<Remedy> remedies;
  bool tuned =
      pipeline && pipeline->tunes_workers && pipeline->tunes_depth && !pipeline->as_written;
  if (pipeline && !tuned && waits_for_input)
    remedies.push_back({.knob = Knob::pipeline,
                        .action = Action::parallel_map,
                        .what = "Stages fused, workers and prefetched batches chosen by measuring",
                        .why = pipeline->as_written
                                   ? "the pipeline runs as it is written"
                                   : "it says itself how many workers and prefetched batches"});
  if (device && !device->capture)
    remedies.push_back({.knob = Knob::capture,
                        .action = Action::capture,
                        .what = "The step captured once, and replayed as a whole",
                        .why = "the host starts every kernel one by one"});
  if (device && (!device->pin || (pipeline && !pipeline->page_locked)))
    remedies.push_back({.knob = Knob::page_lock,
                        .action = Action::page_lock,
                        .what = "Batches in pinned memory, copied during the previous step",
                        .why = "the device waits for copies, or the host copies twice"});
  bool keeps =
      pipeline && pipeline->cache.bytes > 0 && pipeline->cache.fits && pipeline->cache.tunable;
  if (keeps && waits_for_input)
    remedies.push_back(
        {.knob = Knob::cache,
         .action = Action::cache,
         .what = fmt::format("Elements kept in memory behind {}", pipeline->cache.after),
         .why =
             fmt::format("{:.0f} MB save {} per element from the second epoch on",
                         pipeline->cache.bytes * 1e-6, duration(pipeline->cache.saved_ns * 1e-9)),
         .fill = 1 + int64_t(pipeline->cache.elements) / std::max<int64_t>(batch_size, 1)});
  return remedies;
}

TuneSettings with(TuneSettings settings, Knob knob) {
  switch (knob) {
    case Knob::pipeline:
      settings.pipeline.repaired = true;
      break;
    case Knob::cache:
      settings.pipeline.cache = true;
      break;
    case Knob::page_lock:
      settings.device.pin = settings.pipeline.page_locked = true;
      break;
    case Knob::capture:
      settings.device.capture = true;
      break;
    case Knob::none:
      break;
  }
  return settings;
}

Tuning::Tuning(std::vector<Remedy> remedies, const TuneSettings& now, Apply apply)
    : remedies_(std::move(remedies)), kept_(now), apply_(std::move(apply)) {
  begin_remedy();
}

void Tuning::begin_remedy() {
  if (done()) return;
  trial_ = AlternatingTrial();
  steps_in_stage_ = 0;
  stage_ = remedy().fill > 0 ? Stage::fill : Stage::trial;
  if (stage_ == Stage::fill) apply_(with(kept_, remedy().knob));
}

void Tuning::step_ended(int64_t ns) {
  if (done()) return;
  ++steps_in_stage_;
  switch (stage_) {
    case Stage::fill:
      if (steps_in_stage_ < remedy().fill) return;
      stage_ = Stage::trial;
      apply_trial();
      return;
    case Stage::trial: {
      bool change = trial_.step_ended(ns);
      if (trial_.decision() != AlternatingTrial::Decision::undecided)
        end_trial();
      else if (change)
        apply_trial();
      return;
    }
    case Stage::settle:
      settling_.push_back(ns);
      stage_ns_ += ns;
      if (steps_in_stage_ < kSettleSteps || stage_ns_ < kSettleNs) return;
      settling_.erase(settling_.begin(), settling_.begin() + int64_t(settling_.size() / 2));
      tried_.back().settled_seconds =
          double(std::accumulate(settling_.begin(), settling_.end(), int64_t(0))) /
          double(settling_.size()) * 1e-9;
      ++remedy_;
      begin_remedy();
      return;
  }
}

void Tuning::apply_trial() {
  TuneSettings settings = trial_.with_change() ? with(kept_, remedy().knob) : kept_;
  settings.pipeline.hold_cache = remedy().knob == Knob::cache;
  apply_(settings);
}

void Tuning::end_trial() {
  bool keep = trial_.decision() == AlternatingTrial::Decision::keep;
  if (keep) kept_ = with(kept_, remedy().knob);
  apply_(kept_);
  GainInterval gain = trial_.gain();
  tried_.push_back({.action = remedy().action,
                    .what = remedy().what,
                    .why = remedy().why,
                    .changes_results = false,
                    .knob = remedy().knob,
                    .tried = true,
                    .kept = keep,
                    .before_seconds = trial_.before_seconds(),
                    .after_seconds = trial_.after_seconds(),
                    .gain = gain.mean,
                    .gain_low = gain.low,
                    .gain_high = gain.high});
  stage_ = Stage::settle;
  steps_in_stage_ = stage_ns_ = 0;
  settling_.clear();
  if (keep) return;
  ++remedy_;
  begin_remedy();
}

}  // namespace stoker::doctor
