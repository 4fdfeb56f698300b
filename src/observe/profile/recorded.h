// What was seen between a profiler's start and stop: plain data, filled by a session, written by
// hand in tests. Times are nanoseconds of steady_clock().
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "engine/backend.h"
#include "observe/accounting.h"
#include "observe/layer_times.h"

namespace stoker {

// A profile counts time and layers as the doctor does.
using namespace doctor;

// A program that ran.
struct RecordedProgram {
  std::string kind = {};  // of step, or the name of a function
  int64_t batch_size = 0;
  std::vector<KernelInfo> kernels = {};
  std::map<OpKey, double> results = {};  // bytes
  MemoryReport memory = {};
  int64_t runs = 0, timed = 0;
  int64_t timings = 0;             // begun on a GPU: the first does not count
  int64_t timed_ns = 0;            // of the timed runs, from call to return
  std::vector<int64_t> sums = {};  // of the timed runs, by kernel
};

// A run that was taken apart. Its kernels follow each other without gaps and end at `end`.
struct TimedRun {
  size_t program = 0;
  int64_t end = 0;
  std::vector<int64_t> ns = {};  // by kernel
};

// A step of a fit, or of a user's own loop.
struct RecordedStep {
  int64_t number = 0;  // of the fit, or of the profile, from 0
  bool alone = false;  // of an own loop: its times begin with the call and end with it
  StepTimes times = {};
  bool taken_apart = false;
  std::optional<DeviceStep> device = {};
};

struct Recorded {
  int64_t begin = 0, end = 0;
  double since_1970 = 0;  // seconds, at `begin`
  bool gpu = false;
  std::string device_name = {};
  std::vector<RecordedProgram> programs = {};
  std::deque<TimedRun> runs = {};
  std::deque<RecordedStep> steps = {};
  int training_thread = -1;  // this_thread_number(); -1: no thread trained
  Measurements spans = {};
  std::map<int, std::string> threads = {};  // names
  int64_t dropped = 0;                      // events of runs and steps that found no room
};

// The steps as the doctor accounts for them, own loops included: on a device beside the host those
// that it reported, on the host's clock.
std::vector<StepRecord> step_records(const Recorded& recorded);

}  // namespace stoker
