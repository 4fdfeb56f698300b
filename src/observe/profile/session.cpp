#include "observe/profile/session.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "observe/device_timeline.h"
#include "train/callbacks/event_log.h"

namespace stoker {

namespace {

constexpr int64_t kStepEvents = 2;  // of a step of a fit: itself, and its wait

// Where programs run, and nothing that belongs to a user's context.
std::unique_ptr<Context> place_of(const Context& context) {
  auto place = std::make_unique<Context>();
  place->threads = context.threads;
  place->deterministic = context.deterministic;
  place->device = context.device;
  place->policy = context.policy;
  place->tf32 = context.tf32;
  place->memory_limit = context.memory_limit;
  place->memory_fraction = context.memory_fraction;
  place->memory_growth = context.memory_growth;
  place->out = nullptr;
  return place;
}

}  // namespace

// Half of the events are for ops, a quarter for spans of threads, a quarter for steps.
ProfileSession::ProfileSession(std::string log_dir, const ProfileOptions& options)
    : log_dir_(std::move(log_dir)),
      options_(options),
      room_(size_t(options.max_events) / 2),
      trace_(std::make_shared<Trace>(size_t(options.max_events) / 4 + 1)) {
  recorded_.begin = steady_clock().now();
  recorded_.since_1970 = seconds_since_1970();
}

size_t ProfileSession::program_of(const StepCall& call) {
  const Program& program = *call.cached.program;
  const std::vector<KernelInfo>& kernels = program.kernels();
  auto [found, is_new] =
      known_.try_emplace({&program, kernels.data(), kernels.size()}, recorded_.programs.size());
  if (!is_new) return found->second;
  recorded_.programs.push_back({.kind = std::string(call.kind),
                                .batch_size = call.inputs.empty() ? 0 : call.inputs[0].shape()[0],
                                .kernels = kernels,
                                .results = result_bytes(*call.cached.graph),
                                .memory = program.memory(),
                                .sums = std::vector<int64_t>(kernels.size())});
  return found->second;
}

RunStatus ProfileSession::run(const StepCall& call) {
  bool gpu = traits_of(call.context).beside_host;
  // A GPU's first run of a program loads kernels and makes plans: it tells nothing about later
  // ones.
  bool first = gpu && call.cached.program->device_counts().launches == 0;
  call.cached.program->watch_device_steps();
  size_t index = 0;
  bool timed = true, counts = true;
  {
    std::lock_guard lock(mutex_);
    index = program_of(call);
    if (context_ == nullptr) context_ = place_of(call.context);
    recorded_.gpu = recorded_.gpu || gpu;
    timed = !gpu || (!first && taken_apart_ < options_.op_steps);
    // And the first that is taken apart is captured for that.
    counts = !gpu || (timed && recorded_.programs[index].timings++ > 0);
    if (gpu && counts) ++taken_apart_;
  }
  Program& program = *call.cached.program;
  std::string label = call.alone ? fmt::format("run {}", call.kind) : "run";
  TraceScope scope(label);
  // What ran before is over, or a step that failed among it would be reported as this one's failure.
  if (gpu && timed && program.status() != RunStatus::ok) return RunStatus::skipped_non_finite;
  TimedRun run{.program = index};
  int64_t begin = steady_clock().now();
  RunStatus status = timed ? program.run_timed(call.inputs, run.ns) : program.run(call.inputs);
  run.end = steady_clock().now();

  std::lock_guard lock(mutex_);
  if (call.alone && !over_)
    keep(RecordedStep{.number = alone_++,
                      .alone = true,
                      .times = {.epoch = -1,
                                .asked = begin,
                                .ready = begin,
                                .run = begin,
                                .ran = run.end,
                                .end = run.end},
                      .taken_apart = timed});
  if (call.alone) keep_device_steps(program);
  RecordedProgram& recorded = recorded_.programs[index];
  ++recorded.runs;
  if (!timed || status != RunStatus::ok || over_) return status;
  if (counts) {
    ++recorded.timed;
    recorded.timed_ns += run.end - begin;
    for (size_t i = 0; i < run.ns.size(); ++i) recorded.sums[i] += run.ns[i];
  }
  keep(std::move(run));
  return status;
}

void ProfileSession::keep(TimedRun run) {
  kept_ += run.ns.size();
  recorded_.runs.push_back(std::move(run));
  while (kept_ > room_ && !recorded_.runs.empty()) {
    kept_ -= recorded_.runs.front().ns.size();
    recorded_.dropped += int64_t(recorded_.runs.front().ns.size());
    recorded_.runs.pop_front();
  }
}

void ProfileSession::add(int64_t number, const StepTimes& times) {
  std::lock_guard lock(mutex_);
  if (times.asked < recorded_.begin || over_) return;  // only the end of it was seen
  bool taken_apart = std::any_of(
      recorded_.runs.rbegin(), recorded_.runs.rend(),
      [&](const TimedRun& run) { return times.run <= run.end && run.end <= times.ran; });
  keep({.number = number, .times = times, .taken_apart = taken_apart});
}

void ProfileSession::keep(RecordedStep step) {
  recorded_.training_thread = this_thread_number();
  recorded_.steps.push_back(std::move(step));
  if (int64_t(recorded_.steps.size()) * kStepEvents <= options_.max_events / 4) return;
  recorded_.steps.pop_front();
  recorded_.dropped += kStepEvents;
}

void ProfileSession::keep_device_steps(Program& program) {
  DeviceStep step;
  while (program.take_device_step(step)) keep(step);
}

void ProfileSession::add(const DeviceStep& step) {
  std::lock_guard lock(mutex_);
  keep(step);
}

void ProfileSession::keep(const DeviceStep& step) {
  for (auto at = recorded_.steps.rbegin(); at != recorded_.steps.rend(); ++at)
    if (launched_by(at->times, step)) at->device = step;
}

Recorded ProfileSession::finish() {
  std::lock_guard lock(mutex_);
  over_ = true;
  recorded_.end = steady_clock().now();
  recorded_.spans = trace_->snapshot();
  recorded_.threads = trace_->thread_names();
  return recorded_;
}

std::vector<StepRecord> step_records(const Recorded& recorded) {
  std::vector<StepRecord> records;
  std::vector<DeviceStep> device;
  for (const RecordedStep& step : recorded.steps) {
    if (recorded.gpu && !step.device) continue;
    records.push_back({.times = step.times});
    if (step.device) device.push_back(*step.device);
  }
  place_on_host_clock(records, device);
  return records;
}

}  // namespace stoker
