// The control groups that this process is in: the folders whose files limit it.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace stoker {

struct ControlGroup {
  int version = 2;               // 1 or 2
  std::filesystem::path folder;  // of cpu.max, memory.limit_in_bytes and the like
};

// The groups of a controller ("cpu", "memory") that hold this process, its own first and then those
// above, up to where the file system is mounted. A container may see its group's path without
// seeing the folder; folders that are not there are left out. `root` is where /proc and /sys are
// looked for.
std::vector<ControlGroup> control_groups(std::string_view controller,
                                         const std::filesystem::path& root = "/");

}  // namespace stoker
