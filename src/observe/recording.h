// What was seen of a fit, in bounded memory: the latest steps one by one, the course of all of them
// in coarse points, and readings of pipeline, machine and GPU about once a second.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/pipeline_statistics.h"
#include "engine/backend.h"
#include "observe/cpu_counters.h"
#include "observe/evidence.h"

namespace stoker::doctor {

class Recording {
 public:
  static constexpr size_t kSteps = 600;  // kept one by one
  static constexpr size_t kPoints =
      240;  // of the course; when there are twice as many, pairs merge

  // Steps before `warm_up` are not looked at.
  explicit Recording(int64_t warm_up = 10) : warm_up_(warm_up) {}

  void add(const StepTimes& times);
  void leave_out() { ++seen_; }      // a step that tells nothing about the others
  void add(const DeviceStep& step);  // of the step that launched it; of no other fit
  void add(const DeviceSample& sample);
  void add(const PipelineStatistics& statistics);
  void add(const CpuCounters& counters);
  void set_callbacks(std::vector<CallbackFacts> totals) { callbacks_ = std::move(totals); }

  int64_t steps() const { return seen_; }
  bool beside() const { return beside_; }  // the device works beside the host
  // Of the latest steps, at most `most`: three windows, and all that follows from them.
  Evidence evidence(size_t most = kSteps) const;
  std::vector<BreakdownPoint> course() const;
  const std::vector<DeviceSample>& samples() const { return samples_; }
  const std::deque<StepRecord>& latest() const { return latest_; }
  // Forgets steps and readings, not the course: what follows is another situation.
  void begin_anew();

 private:
  struct Point {
    Accounting accounting;
    int64_t begin = 0;
  };
  void extend_course();
  std::vector<StepRecord> placed(size_t most) const;
  double copy_ns() const;

  int64_t warm_up_, seen_ = 0, begin_ = 0;
  std::deque<StepRecord> latest_;
  std::deque<std::optional<DeviceStep>> device_;  // of the latest: what is known
  bool beside_ = false;
  std::vector<Point> points_;
  size_t steps_a_point_ = 4, steps_in_point_ = 0;
  std::vector<DeviceSample> samples_;
  std::optional<PipelineStatistics> pipeline_first_, pipeline_last_;
  std::optional<CpuCounters> cpu_first_, cpu_last_;
  std::vector<CallbackFacts> callbacks_;  // sums since the fit began
};

// Steps in parts that follow each other without an epoch's end between them.
Accounting account_in_parts(std::span<const StepRecord> steps);
// What happened between two readings of a pipeline.
PipelineFacts pipeline_between(const PipelineStatistics& before, const PipelineStatistics& after,
                               double wall_ns);
// By how far the middle half of the values is apart: a normal distribution's standard deviation,
// without its outliers.
double robust_spread(std::vector<double> values);

}  // namespace stoker::doctor
