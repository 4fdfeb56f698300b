#include "base/writable.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace fs = std::filesystem;

void check_can_write_file(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at cannot be written either: seen below
  if (fs::is_directory(path, ignored))
    throw FileError(fmt::format("{}: is a directory; expected the path of a file", path));
  fs::path parent = fs::path(path).parent_path();
  check_can_write_folder(parent.empty() ? "." : parent.string());
}

void check_can_write_folder(const std::string& directory) {
  std::error_code ignored;
  fs::path folder = fs::absolute(directory, ignored);
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, ignored))
    throw FileError(
        fmt::format("{}: cannot be written to: {} is not a directory", directory, folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw FileError(fmt::format("{}: cannot be written to: {}: {}", directory, folder.string(),
                                std::generic_category().message(errno)));
}

}  // namespace stoker
