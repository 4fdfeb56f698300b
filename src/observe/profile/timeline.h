// Who did what when, in lanes: the host's threads, the device's computing and copying. What the
// files of a trace are made of. Pure; views into what was recorded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "observe/profile/recorded.h"

namespace stoker {

struct TimelineEvent {
  enum class Kind : uint8_t { span, step, wait, op, copy };
  Kind kind = Kind::span;
  std::string_view name = {};          // of spans
  int64_t begin = 0, end = 0;          // nanoseconds since the profile began
  const KernelInfo* kernel = nullptr;  // of ops
  int64_t epoch = -1;                  // of steps
  int64_t number = -1;                 // of the step it is or belongs to; -1: none of a fit's
};

struct Lane {
  std::string name = {};
  bool device = false;
  std::vector<TimelineEvent> events = {};  // by their beginning; the longer of two comes first
};

struct Timeline {
  std::vector<Lane> lanes;  // the training thread first; none is empty
  int64_t events = 0, dropped = 0;
};

// `recorded` outlives it. What began before the profile, or ended after it, is left out.
Timeline make_timeline(const Recorded& recorded);

// What an op is called where a name is all there is: "dense/matmul", "dense/backward/matmul".
std::string op_label(const KernelInfo& kernel);

}  // namespace stoker
