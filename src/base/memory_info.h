// How much memory this process may still take: a container's share, not the machine's.
#pragma once

#include <cstdint>
#include <filesystem>

namespace stoker {

// The smaller of what the machine has left and what the control groups of this process (version 1
// or 2, its own and those above) have left, in bytes; 0 when neither is known. `root` is where
// /proc and /sys are looked for.
int64_t available_memory(const std::filesystem::path& root = "/");

// Bytes of the last cache before the memory, as its core sees it; 0 when it is not known.
int64_t last_cache_bytes(const std::filesystem::path& root = "/");

// Bytes of this process that were in memory at most so far; 0 where that is not known.
int64_t peak_resident_memory();
// Those of them that no file stands behind, now: what was allocated, without code and mapped data.
int64_t anonymous_memory();

}  // namespace stoker
