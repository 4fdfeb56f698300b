// How much memory this process may still take: a container's share, not the machine's.
#pragma once

#include <cstdint>
#include <filesystem>

namespace stoker {

// The smaller of what the machine has left and what the control group (version 1 or 2) has left, in
// bytes; 0 when neither is known. `root` is where /proc and /sys are looked for.
int64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace stoker
