// A device that works beside the host tells of its steps on a clock of its own.
#pragma once

#include <span>

#include "engine/backend.h"
#include "observe/accounting.h"

namespace stoker {

// Puts the device's intervals into the records: one DeviceStep a record, in order. A device cannot
// begin before it is told to, and begins at once where it had run dry: that fixes the distance of
// the two clocks.
void place_on_host_clock(std::span<StepRecord> records, std::span<const DeviceStep> device);

}  // namespace stoker
