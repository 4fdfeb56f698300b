#include "base/cgroup.h"

#include <fstream>
#include <sstream>
#include <string>

namespace stoker {

namespace {

namespace fs = std::filesystem;

bool lists(const std::string& names, std::string_view wanted) {
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');)
    if (name == wanted) return true;
  return false;
}

// mountinfo writes spaces and the like as three octal digits.
std::string unescaped(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool octal = text[i] == '\\' && i + 3 < text.size() &&
                 text.find_first_not_of("01234567", i + 1) >= i + 4;
    result += octal ? char(std::stoi(text.substr(i + 1, 3), nullptr, 8)) : text[i];
    i += octal ? 3 : 0;
  }
  return result;
}

struct Mount {
  int version = 0;
  fs::path group;  // that the mount point shows
  fs::path point;
};

// "36 35 98:0 /group /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
Mount mount_of(const std::string& line, std::string_view controller) {
  std::istringstream words(line);
  std::string number, parent, device, group, point, word, type, source, options;
  words >> number >> parent >> device >> group >> point;
  while (words >> word && word != "-") continue;
  words >> type >> source >> options;
  int version = type == "cgroup2" ? 2 : type == "cgroup" && lists(options, controller) ? 1 : 0;
  return {version, unescaped(group), unescaped(point)};
}

std::vector<Mount> mounts_of(std::string_view controller, const fs::path& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);)
    if (Mount mount = mount_of(line, controller); mount.version != 0) mounts.push_back(mount);
  if (!mounts.empty()) return mounts;
  // Where the mounts are unknown, groups are at their usual place.
  return {{2, "/", "/sys/fs/cgroup"}, {1, "/", fs::path("/sys/fs/cgroup") / controller}};
}

// The group's path below the mount point; the mount point itself where it shows another branch.
fs::path below(const Mount& mount, const std::string& group) {
  fs::path relative = fs::path(group).lexically_relative(mount.group);
  bool outside = relative.empty() || *relative.begin() == "..";
  return outside ? fs::path() : relative == "." ? fs::path() : relative;
}

void add_groups(std::vector<ControlGroup>& found, const Mount& mount, const std::string& group,
                const fs::path& root) {
  std::error_code error;
  for (fs::path path = below(mount, group);; path = path.parent_path()) {
    fs::path folder = root / mount.point.relative_path() / path;
    if (fs::is_directory(folder, error)) found.push_back({mount.version, folder});
    if (path.empty()) return;
  }
}

}  // namespace

std::vector<ControlGroup> control_groups(std::string_view controller, const fs::path& root) {
  std::vector<Mount> mounts = mounts_of(controller, root);
  std::vector<ControlGroup> found;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
    auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    int version = controllers.empty() ? 2 : lists(controllers, controller) ? 1 : 0;
    for (const Mount& mount : mounts)
      if (mount.version == version) add_groups(found, mount, line.substr(second + 1), root);
  }
  return found;
}

}  // namespace stoker
