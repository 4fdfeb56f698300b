// A device that works beside the host tells of its steps on a clock of its own.
#pragma once

#include <span>

#include "engine/backend.h"
#include "observe/accounting.h"

namespace stoker::doctor {

// Whether the device did this in that step of a fit.
inline bool launched_by(const StepTimes& times, const DeviceStep& step) {
  return times.run <= step.launched && step.launched <= times.ran;
}

// Puts the device's intervals into the records: one DeviceStep a record, in order. A device cannot
// begin before it is launched, and begins at once where it had run dry: that fixes the distance of
// the two clocks, anew after every moment in which the device did something else.
void place_on_host_clock(std::span<StepRecord> records, std::span<const DeviceStep> device);

}  // namespace stoker::doctor
