#include "observe/device_timeline.h"

#include <algorithm>
#include <limits>

namespace stoker {

void place_on_host_clock(std::span<StepRecord> records, std::span<const DeviceStep> device) {
  size_t count = std::min(records.size(), device.size());
  int64_t at = 0, distance = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < count; ++i) {
    const DeviceStep& step = device[i];
    StepRecord& record = records[i];
    int64_t begin = at + (i == 0 ? 0 : std::max<int64_t>(step.idle, 0));
    record.beside = true;
    record.compute = {begin, begin + step.busy};
    record.copy = {begin - step.exposed_copy, begin};
    at = record.compute.end;
    distance = std::max(distance, record.times.ran - begin);
  }
  for (StepRecord& record : records.first(count))
    for (Interval* interval : {&record.compute, &record.copy})
      interval->begin += distance, interval->end += distance;
}

}  // namespace stoker
