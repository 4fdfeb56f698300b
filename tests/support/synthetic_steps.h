// Windows of steps as they would be recorded, made with a clock that moves only when it is advanced,
// and what the doctor would be shown of them.
#pragma once

#include <vector>

#include "base/clock.h"
#include "observe/evidence.h"
#include "observe/verdict.h"

namespace stoker::test {

using namespace doctor;

constexpr int64_t kMs = 1'000'000;

// What one step takes, nanoseconds.
struct StepParts {
  int64_t input = 0, before = 0, run = 10 * kMs, after = 0;
};

inline StepRecord record_step(FakeClock& clock, int64_t number, const StepParts& parts) {
  StepRecord record;
  StepTimes& times = record.times;
  times.step = number;
  times.samples = 32;
  times.asked = clock.now();
  clock.advance(parts.input);
  times.ready = clock.now();
  clock.advance(parts.before);
  times.run = clock.now();
  clock.advance(parts.run);
  times.ran = clock.now();
  clock.advance(parts.after);
  times.end = clock.now();
  return record;
}

inline std::vector<StepRecord> record_steps(const StepParts& parts, int64_t count) {
  FakeClock clock;
  std::vector<StepRecord> records;
  for (int64_t i = 0; i < count; ++i) records.push_back(record_step(clock, i, parts));
  return records;
}

// 150 equal steps on a machine of four cores, with nothing wrong but what `parts` say.
inline Evidence evidence_of(const StepParts& parts) {
  Evidence evidence;
  for (int i = 0; i < 3; ++i) {
    WindowFacts window;
    window.accounting = account(record_steps(parts, 50));
    window.ready_share = parts.input > 20'000 ? 0 : 1;
    window.median_wait_ns = double(parts.input);
    evidence.windows.push_back(window);
  }
  evidence.steady_steps = 150;
  evidence.batch_size = 32;
  evidence.step_ns = double(parts.input + parts.before + parts.run + parts.after);
  evidence.variation = 0.02;
  evidence.health.available_cores = 4;
  evidence.health.process_cores = 1.5;
  return evidence;
}

inline Evidence input_bound() {
  Evidence evidence = evidence_of({.input = 10 * kMs, .run = 10 * kMs});
  evidence.pipeline = {
      .known = true, .workers = 1, .depth = 2, .busy_share = 0.98, .work_ns = 20e6};
  evidence.pipeline.stages = {{.name = "map(\"decode\")", .ns = 600e3, .cpu_share = 0.99},
                              {.name = "map(\"flip\")", .ns = 20e3, .cpu_share = 0.99}};
  evidence.what_if = {.host_batch_ns = 10e6, .pipeline_alone_ns = 20e6};
  return evidence;
}

// A fifth of each step is a copy that the device waits for.
inline Evidence copy_bound() {
  Evidence evidence = evidence_of({});
  for (WindowFacts& window : evidence.windows) {
    window.accounting.ns[size_t(Owner::compute)] -= 100 * kMs;
    window.accounting.ns[size_t(Owner::copy)] += 100 * kMs;
  }
  evidence.pipeline.known = true;
  evidence.device.gpu = true;
  return evidence;
}

// Computing at these shares of the machine's peaks, by ops that are near to one of them each.
inline Evidence busy(double compute, double bandwidth) {
  Evidence evidence = evidence_of({});
  evidence.device.compute_share = evidence.device.at_peak = compute;
  evidence.device.bandwidth_share = evidence.device.at_bandwidth = bandwidth;
  return evidence;
}

// So much of the computing is a user's code on the host, and waiting for the host to start kernels.
inline Evidence with_moved(double host, double launch) {
  Evidence evidence = evidence_of({});
  for (WindowFacts& window : evidence.windows)
    window.accounting = moved(window.accounting, host, launch);
  return evidence;
}

inline Prescription best_for(const Evidence& evidence) {
  std::vector<Prescription> list = prescriptions_for(judge(evidence), evidence);
  return list.empty() ? Prescription{} : list[0];
}

}  // namespace stoker::test
