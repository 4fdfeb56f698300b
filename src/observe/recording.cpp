#include "observe/recording.h"

#include <algorithm>
#include <cmath>

#include "observe/device_timeline.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

constexpr size_t kMostSamples = 600;  // about ten minutes of readings
constexpr size_t kMostOutliers = 3;
constexpr double kOutlier = 3;  // times the median

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + int64_t(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double quantile(const std::vector<double>& sorted, double share) {
  return sorted[size_t(share * double(sorted.size() - 1))];
}

double step_ns(const StepRecord& step) { return double(step.times.end - step.times.asked); }
double wait_ns(const StepRecord& step) { return double(step.times.ready - step.times.asked); }
double device_ns(const StepRecord& step) {
  return step.beside ? double(step.compute.length()) : double(computing_of(step.times).length());
}

template <class F>
std::vector<double> values_of(std::span<const StepRecord> steps, F of) {
  std::vector<double> values;
  values.reserve(steps.size());
  for (const StepRecord& step : steps) values.push_back(of(step));
  return values;
}

WindowFacts facts_of(std::span<const StepRecord> steps) {
  WindowFacts window;
  window.accounting = account_in_parts(steps);
  std::vector<double> waits = values_of(steps, wait_ns);
  double ready = std::min(kLongWaitNs, kReadyOfStep * median(values_of(steps, step_ns)));
  size_t late = 0;
  double waited = 0, waited_late = 0;
  for (double wait : waits) {
    waited += wait;
    if (wait > ready) ++late, waited_late += wait;
  }
  window.ready_share = 1 - double(late) / double(std::max<size_t>(waits.size(), 1));
  window.late_share = waited > 0 ? waited_late / waited : 0;
  window.median_wait_ns = median(waits);
  return window;
}

Owner owner_of_outlier(const StepRecord& step) {
  const StepTimes& t = step.times;
  int64_t input = t.ready - t.asked, run = t.ran - t.run - t.made,
          sync = (t.run - t.ready) + t.made + (t.end - t.ran);
  if (input >= run && input >= sync) return Owner::input;
  return sync >= run ? Owner::sync : Owner::compute;
}

std::vector<Outlier> outliers_of(std::span<const StepRecord> steps) {
  double usual = median(values_of(steps, step_ns));
  std::vector<Outlier> outliers;
  for (const StepRecord& step : steps)
    if (step_ns(step) > kOutlier * usual)
      outliers.push_back({step.times.step, step_ns(step), owner_of_outlier(step)});
  std::ranges::sort(outliers, std::greater<>(), &Outlier::ns);
  if (outliers.size() > kMostOutliers) outliers.resize(kMostOutliers);
  return outliers;
}

}  // namespace

double robust_spread(std::vector<double> values) {
  if (values.size() < 4) return 0;
  std::ranges::sort(values);
  constexpr double kNormal = 1.349;  // quartiles of a normal distribution, in standard deviations
  return (quantile(values, 0.75) - quantile(values, 0.25)) / kNormal;
}

Accounting account_in_parts(std::span<const StepRecord> steps) {
  Accounting sum;
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin + 1;
    while (end < steps.size() && steps[end].times.epoch == steps[begin].times.epoch &&
           steps[end].times.step == steps[end - 1].times.step + 1)
      ++end;
    Accounting part = account(steps.subspan(begin, end - begin));
    for (size_t i = 0; i < kOwners; ++i) sum.ns[i] += part.ns[i];
    sum.wall += part.wall;
    sum.steps += part.steps;
    begin = end;
  }
  return sum;
}

PipelineFacts pipeline_between(const PipelineStatistics& before, const PipelineStatistics& after,
                               double wall_ns) {
  PipelineFacts facts;
  facts.known = true;
  facts.workers = after.workers;
  facts.depth = after.depth;
  facts.as_written = after.as_written;
  facts.tunes_workers = after.tunes_workers;
  facts.tunes_depth = after.tunes_depth;
  facts.page_locked = after.page_locked;
  facts.cache = after.cache;
  bool same = after.delivered >= before.delivered && after.stages.size() == before.stages.size();
  const PipelineStatistics none;
  const PipelineStatistics& from = same ? before : none;  // it was started anew
  auto batches = double(std::max<int64_t>(after.delivered - from.delivered, 1));
  facts.work_ns = double(after.busy_ns - from.busy_ns) / batches;
  if (wall_ns > 0 && after.workers > 0)
    facts.busy_share =
        std::min(1.0, double(after.busy_ns - from.busy_ns) / wall_ns / after.workers);
  double on_core = 0, of = 0;
  for (size_t i = 0; i < after.stages.size(); ++i) {
    const PipelineStage& now = after.stages[i];
    PipelineStage then = same ? before.stages[i] : PipelineStage{};
    auto calls = double(now.calls - then.calls);
    if (calls <= 0) continue;
    StageFacts stage{.name = now.name, .ns = double(now.ns - then.ns) / calls};
    stage.bytes = double(now.bytes - then.bytes) / calls;
    stage.longest_ns = double(now.longest_ns);
    stage.random = now.random;
    auto cpu_of = double(now.cpu_calls_ns - then.cpu_calls_ns);
    if (cpu_of > 0) {
      stage.cpu_share = std::min(1.0, double(now.cpu_ns - then.cpu_ns) / cpu_of);
      on_core += stage.cpu_share * stage.ns;
      of += stage.ns;
    }
    facts.stages.push_back(std::move(stage));
  }
  double share = of > 0 ? on_core / of : 1;
  facts.cpu_ns = after.cpu_ns > from.cpu_ns ? double(after.cpu_ns - from.cpu_ns) / batches
                                            : share * facts.work_ns;
  return facts;
}

void Recording::add(const StepTimes& times) {
  if (begin_ == 0) begin_ = times.asked;  // the first may have been left out
  if (seen_++ < warm_up_) return;
  latest_.push_back({.times = times});
  device_.emplace_back();
  if (latest_.size() > kSteps) {
    latest_.pop_front();
    device_.pop_front();
  }
  extend_course();
}

void Recording::add(const DeviceStep& step) {
  beside_ = true;
  for (size_t i = latest_.size(); i-- > 0 && latest_[i].times.ran >= step.launched;)
    if (launched_by(latest_[i].times, step)) device_[i] = step;
}

void Recording::add(const DeviceSample& sample) {
  if (samples_.size() < kMostSamples) samples_.push_back(sample);
}

void Recording::add(const PipelineStatistics& statistics) {
  if (!pipeline_first_ || statistics.delivered < pipeline_first_->delivered)
    pipeline_first_ = statistics;
  pipeline_last_ = statistics;
}

void Recording::add(const CpuCounters& counters) {
  if (!cpu_first_) cpu_first_ = counters;
  cpu_last_ = counters;
}

void Recording::begin_anew() {
  latest_.clear();
  device_.clear();
  pipeline_first_ = pipeline_last_;
  cpu_first_ = cpu_last_;
}

// Points of equal numbers of steps; when there are too many, two become one.
void Recording::extend_course() {
  if (++steps_in_point_ < steps_a_point_ || latest_.size() < steps_a_point_) return;
  steps_in_point_ = 0;
  std::vector<StepRecord> steps = placed(steps_a_point_);
  if (steps.empty()) return;
  points_.push_back({account_in_parts(steps), steps.front().times.asked});
  if (points_.size() < 2 * kPoints) return;
  for (size_t i = 0; i < kPoints; ++i) {
    Point merged = points_[2 * i];
    const Accounting& second = points_[2 * i + 1].accounting;
    for (size_t owner = 0; owner < kOwners; ++owner)
      merged.accounting.ns[owner] += second.ns[owner];
    merged.accounting.wall += second.wall;
    merged.accounting.steps += second.steps;
    points_[i] = merged;
  }
  points_.resize(kPoints);
  steps_a_point_ *= 2;
}

std::vector<StepRecord> Recording::placed(size_t most) const {
  std::vector<StepRecord> steps;
  std::vector<DeviceStep> device;
  for (size_t i = latest_.size(); i-- > 0 && steps.size() < most;) {
    if (beside_ && !device_[i]) continue;
    steps.push_back(latest_[i]);
    if (beside_) device.push_back(*device_[i]);
  }
  std::ranges::reverse(steps);
  std::ranges::reverse(device);
  if (beside_) place_on_host_clock(steps, device);
  return steps;
}

// A step's, on average of those that are known.
double Recording::copy_ns() const {
  double sum = 0, known = 0;
  for (const std::optional<DeviceStep>& step : device_)
    if (step) sum += double(step->copy), known += 1;
  return known > 0 ? sum / known : 0;
}

Evidence Recording::evidence(size_t most) const {
  Evidence evidence;
  std::vector<StepRecord> steps = placed(most);
  evidence.steady_steps = int64_t(steps.size());
  evidence.windows.resize(3);
  if (steps.empty()) return evidence;
  size_t third = steps.size() / 3;
  std::span<const StepRecord> all = steps;
  for (size_t i = 0; i < 3 && third > 0; ++i)
    evidence.windows[i] =
        facts_of(all.subspan(i * third, i == 2 ? steps.size() - 2 * third : third));
  Accounting total = evidence.total();
  evidence.step_ns = total.steps > 0 ? double(total.wall) / double(total.steps) : 0;
  double usual = median(values_of(all, step_ns));
  evidence.variation = usual > 0 ? robust_spread(values_of(all, device_ns)) / usual : 0;
  evidence.outliers = outliers_of(all);
  if (beside_) evidence.device.copy_ns = copy_ns();
  for (const StepRecord& step : steps) {
    // The last of an epoch may be smaller.
    evidence.batch_size = std::max(evidence.batch_size, step.times.samples);
    evidence.making_ns += double(step.times.made) / double(steps.size());
    evidence.making_share += double(step.times.made > 0) / double(steps.size());
  }
  double wall = 0;
  if (cpu_first_ && cpu_last_) {
    add_to(evidence.health, *cpu_first_, *cpu_last_);
    wall = double(cpu_last_->at - cpu_first_->at);
  }
  if (pipeline_last_) evidence.pipeline = pipeline_between(*pipeline_first_, *pipeline_last_, wall);
  for (const CallbackFacts& callback : callbacks_)
    evidence.callbacks.push_back(
        {callback.name, callback.ns / double(std::max<int64_t>(seen_, 1)), callback.epoch_ns});
  return evidence;
}

std::vector<BreakdownPoint> Recording::course() const {
  std::vector<BreakdownPoint> course;
  course.reserve(points_.size());
  for (const Point& point : points_) {
    const Accounting& accounting = point.accounting;
    if (accounting.steps == 0) continue;
    course.push_back({.time = double(point.begin - begin_) * 1e-9,
                      .step_seconds = double(accounting.wall) * 1e-9 / double(accounting.steps),
                      .shares = accounting.shares()});
  }
  return course;
}

}  // namespace stoker::doctor
