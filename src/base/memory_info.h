// How much memory this process may still take: a container's share, not the machine's.
#pragma once

#include <cstdint>
#include <filesystem>

namespace stoker {

// The smaller of what the machine has left and what the control group (version 1 or 2) has left, in
// bytes; 0 when neither is known. `root` is where /proc and /sys are looked for.
int64_t available_memory(const std::filesystem::path& root = "/");

// Bytes of this process that are in memory, now and at most so far; 0 where that is not known.
int64_t resident_memory();
int64_t peak_resident_memory();
// From here on the peak counts anew, where the system can do that.
void reset_peak_resident_memory();

}  // namespace stoker
