#include "base/elsewhere.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> other_folders(const fs::path& folder) {
  std::vector<fs::path> all = {folder.parent_path()};
  auto add_variable = [&](const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
    if (value != nullptr && *value == '/') all.emplace_back(value);
  };
  add_variable("TMPDIR");
  all.emplace_back("/tmp");
  all.emplace_back("/var/tmp");
  add_variable("HOME");
  std::erase_if(all, [](const fs::path& each) {
    std::error_code error;
    return !fs::is_directory(each, error);
  });
  return all;
}

}  // namespace

std::string write_elsewhere(const std::string& path,
                            const std::function<void(const std::string&)>& write) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  fs::path folder = whole.parent_path();
  std::string name = fmt::format("stoker-{}-{}-{}", folder.filename().string(), getpid(),
                                 whole.filename().string());
  for (const fs::path& other : other_folders(folder)) try {
      std::string there = (other / name).string();
      write(there);
      return there;
    } catch (const FileError&) {
      // The next place.
    }
  return "";
}

}  // namespace stoker
