// Windows of steps as they would be recorded, made with a clock that stands still until it is told.
#pragma once

#include <vector>

#include "base/clock.h"
#include "observe/evidence.h"

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

}  // namespace stoker::test
