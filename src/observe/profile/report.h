// From what was recorded to the tables of a Profile.
#pragma once

#include <stoker/profiler.h>

#include "observe/machine_peaks.h"
#include "observe/profile/recorded.h"

namespace stoker {

// Without peaks (0) there are no shares of them. A kernel that was faster raises them.
Profile make_profile(const Recorded& recorded, const MachinePeaks& measured);

// The rows of a layer as one.
std::vector<LayerProfile> by_layer(const std::vector<LayerReport>& ops);

}  // namespace stoker
