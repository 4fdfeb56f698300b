#include "observe/profile/timeline.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace stoker {

namespace {

using Kind = TimelineEvent::Kind;

class TimelineBuilder {
 public:
  explicit TimelineBuilder(const Recorded& recorded) : recorded_(recorded) {}

  Timeline build() {
    Lane training{.name = "training"}, compute{.name = "compute", .device = true},
        copies{.name = "copy", .device = true};
    add_steps(training);
    std::map<int, Lane> threads = thread_lanes(training);
    add_ops(compute);
    add_device_steps(compute, copies);
    take(std::move(training));
    for (auto& [number, lane] : threads) take(std::move(lane));
    take(std::move(compute));
    take(std::move(copies));
    timeline_.dropped = recorded_.dropped + recorded_.spans.spans_lost;
    return std::move(timeline_);
  }

 private:
  void put(Lane& lane, TimelineEvent event) const {
    if (event.begin < recorded_.begin || event.end > recorded_.end) return;
    event.begin -= recorded_.begin;
    event.end -= recorded_.begin;
    lane.events.push_back(event);
  }

  void take(Lane lane) {
    if (lane.events.empty()) return;
    std::ranges::stable_sort(lane.events, [](const TimelineEvent& a, const TimelineEvent& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    timeline_.events += int64_t(lane.events.size());
    timeline_.lanes.push_back(std::move(lane));
  }

  void add_steps(Lane& training) const {
    for (const RecordedStep& step : recorded_.steps) {
      const StepTimes& times = step.times;
      put(training, {.kind = Kind::step,
                     .begin = times.asked,
                     .end = times.end,
                     .epoch = times.epoch,
                     .number = step.number});
      if (!step.alone)
        put(training, {.kind = Kind::wait, .begin = times.asked, .end = times.ready});
    }
  }

  // Spans of the training thread go where its steps are.
  std::map<int, Lane> thread_lanes(Lane& training) const {
    std::map<int, Lane> lanes;
    for (const SpanRecord& span : recorded_.spans.spans) {
      bool trains = span.thread == recorded_.training_thread;
      Lane& lane = trains ? training : lanes[span.thread];
      put(lane, {.kind = Kind::span, .name = span.name, .begin = span.begin, .end = span.end});
    }
    for (auto& [number, lane] : lanes) {
      auto known = recorded_.threads.find(number);
      lane.name =
          known == recorded_.threads.end() ? fmt::format("thread {}", number) : known->second;
    }
    return lanes;
  }

  void add_ops(Lane& compute) const {
    for (const TimedRun& run : recorded_.runs) {
      const std::vector<KernelInfo>& kernels = recorded_.programs[run.program].kernels;
      int64_t begin = run.end, number = step_of(run);
      for (int64_t ns : run.ns) begin -= ns;
      for (size_t i = 0; i < run.ns.size(); ++i) {
        int64_t end = begin + run.ns[i];
        if (end == begin) continue;  // it did not run, or no clock can see it
        put(compute, {.kind = Kind::op,
                      .begin = begin,
                      .end = end,
                      .kernel = &kernels[i],
                      .number = number});
        begin = end;
      }
    }
  }

  // Of the step in which a run ended; both are in order.
  int64_t step_of(const TimedRun& run) const {
    auto step = std::ranges::lower_bound(recorded_.steps, run.end, {},
                                         [](const RecordedStep& each) { return each.times.ran; });
    bool inside = step != recorded_.steps.end() && step->times.run <= run.end;
    return inside ? step->number : -1;
  }

  // Steps that a device ran as a whole. When a copy that no thread waited for began is not known: it
  // is shown at the latest moment at which it can have been.
  void add_device_steps(Lane& compute, Lane& copies) const {
    if (!recorded_.gpu) return;
    std::vector<StepRecord> records = step_records(recorded_);
    size_t index = 0;
    for (const RecordedStep& step : recorded_.steps) {
      if (!step.device) continue;
      const StepRecord& record = records[index++];
      if (!step.taken_apart)
        put(compute, {.kind = Kind::step,
                      .begin = record.compute.begin,
                      .end = record.compute.end,
                      .epoch = step.times.epoch,
                      .number = step.number});
      if (step.device->copy > 0)
        put(copies, {.kind = Kind::copy,
                     .begin = record.copy.end - step.device->copy,
                     .end = record.copy.end,
                     .number = step.number});
    }
  }

  const Recorded& recorded_;
  Timeline timeline_;
};

}  // namespace

Timeline make_timeline(const Recorded& recorded) { return TimelineBuilder(recorded).build(); }

std::string op_label(const KernelInfo& kernel) {
  const char* phase = kernel.phase == Phase::forward    ? ""
                      : kernel.phase == Phase::backward ? "backward/"
                                                        : "update/";
  return fmt::format("{}/{}{}", kernel.scope.empty() ? "step" : kernel.scope, phase, kernel.op);
}

}  // namespace stoker
