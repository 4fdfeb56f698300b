#include "observe/device_timeline.h"

#include <algorithm>
#include <limits>

namespace stoker::doctor {

namespace {

bool follows(const DeviceStep& step, const DeviceStep& before) {
  return step.idle >= 0 && step.run == before.run + 1;
}

// Runs that follow each other, after all that ended at `earliest`. Kernels that are launched as one
// cannot begin before that was done, even where the mark before them was reached earlier.
void place(std::span<StepRecord> records, std::span<const DeviceStep> device, int64_t earliest) {
  std::vector<int64_t> begins(device.size());
  int64_t at = 0, distance = earliest;
  for (size_t i = 0; i < device.size(); ++i) {
    begins[i] = at + (i == 0 ? 0 : device[i].idle);
    at = begins[i] + device[i].busy;
    distance = std::max(distance, device[i].launched - begins[i]);
  }
  for (size_t i = 0; i < device.size(); ++i) {
    int64_t begin = begins[i] + distance, end = begin + device[i].busy;
    records[i].beside = true;
    records[i].compute = {std::clamp(device[i].issued, begin, end), end};
    records[i].copy = {begin - device[i].exposed_copy, begin};
  }
}

}  // namespace

void place_on_host_clock(std::span<StepRecord> records, std::span<const DeviceStep> device) {
  size_t count = std::min(records.size(), device.size());
  int64_t earliest = std::numeric_limits<int64_t>::min();
  for (size_t begin = 0; begin < count;) {
    size_t end = begin + 1;
    while (end < count && follows(device[end], device[end - 1])) ++end;
    place(records.subspan(begin, end - begin), device.subspan(begin, end - begin), earliest);
    earliest = records[end - 1].compute.end;
    begin = end;
  }
}

}  // namespace stoker::doctor
