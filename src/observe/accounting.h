// Where the time of some steps went: every moment has exactly one owner, so that the parts sum to
// the whole. Pure functions of what was recorded.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <stoker/doctor.h>

#include "train/fit/step_observer.h"

namespace stoker::doctor {

struct Interval {
  int64_t begin = 0, end = 0;
  int64_t length() const { return end > begin ? end - begin : 0; }
};

// A step where the device is the host: compiling is no computing.
inline Interval computing_of(const StepTimes& times) { return {times.run + times.made, times.ran}; }

// A step as it was seen. A device that works beside the host brings when it computed and copied, on
// the host's clock; otherwise the step itself (run → ran) is the computing.
struct StepRecord {
  StepTimes times;
  bool beside = false;
  Interval compute = {}, copy = {};
};

struct Accounting {
  std::array<int64_t, kOwners> ns{};
  int64_t wall = 0;  // the sum of them
  int64_t steps = 0;
  int64_t operator[](Owner owner) const { return ns[size_t(owner)]; }
  StepShares shares() const;
};

// Merged and in order.
std::vector<Interval> united(std::vector<Interval> intervals);

// The steps have to follow each other. Where the device computes: compute. Where it does not: the
// copy that it waits for; else what the host is doing: waiting for a batch is input, callbacks,
// compiling and looking on are sync, the step's own call is launch. A moment that no record covers is
// unexplained.
Accounting account(std::span<const StepRecord> steps);

// Ops that are a user's code on the host (`host_share` of the computing) and the time that the
// host needs around kernels (`launch_share`): known only where kernels were timed one by one.
Accounting moved(Accounting accounting, double host_share, double launch_share);

}  // namespace stoker::doctor
