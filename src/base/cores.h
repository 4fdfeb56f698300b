// How many cores this process may really use: a container's share, not the machine's.
#pragma once

#include <filesystem>
#include <optional>

namespace stoker {

// The smaller of the affinity mask and the cgroup quota (rounded up); at least 1.
int available_cores();

// Those that each of several processes or threads of this host gets, when all do the same work. A
// process that is bound to some cores of the machine has them for itself.
int cores_of_rank(int64_t ranks_of_host);

// Threads that mostly wait, for a disk or a network, may be more than cores: at least so many.
inline constexpr int kWaitingThreads = 16;

// The CPU quota, in cores, of this process's control group and of those above it (version 1 or 2);
// nothing when there is none. `root` is where /proc and /sys are looked for.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root = "/");

}  // namespace stoker
