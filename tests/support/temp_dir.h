// A temporary folder that goes away, with all it holds, at the end of the scope.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace stoker::test {

// TMPDIR where it is set; else a file system in memory where there is one with room. Files are as
// real there, and the thousands of fsync calls of checkpoints do not wait for a disk: beside other
// work the tests of resume took 27 s with one and take 5 s without.
inline std::filesystem::path temp_root() {
  constexpr uintmax_t kRoom = 4ull << 30;
  const std::filesystem::path memory = "/dev/shm";
  if (std::getenv("TMPDIR") != nullptr) return std::filesystem::temp_directory_path();
  std::error_code missing;
  std::filesystem::space_info space = std::filesystem::space(memory, missing);
  bool usable = !missing && space.available >= kRoom && access(memory.c_str(), W_OK) == 0;
  return usable ? memory : std::filesystem::temp_directory_path();
}

class TempDir {
 public:
  TempDir() {
    std::string pattern = (temp_root() / "stoker-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "mkdtemp " + pattern);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // The path of an entry, as the library takes it: dir / "weights.safetensors".
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

  // Writes a file, making the folders on the way; returns its path.
  std::string write(std::string_view name, std::string_view content) const {
    std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out.write(content.data(), std::streamsize(content.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace stoker::test
